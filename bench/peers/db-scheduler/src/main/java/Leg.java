import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;

/** db-scheduler on MySQL: its lock-and-fetch polling, as many threads as calls may be under way, the JDK's HTTP client. */
public class Leg {
  // Arguments: JDBC URL, user, target, threads, payload, two files with the path of each job on a line: warm-up, measured.
  public static void main(String[] args) throws Exception {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(args[0]);
    config.setUsername(args[1]);
    config.setMaximumPoolSize(Integer.parseInt(args[3]));
    HikariDataSource source = new HikariDataSource(config);
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    createTable(source);
    String[] before = Files.readAllLines(Path.of(args[5])).toArray(String[]::new);
    fill(source, before.length);
    drain(source, client, args, before).stop();
    String[] paths = Files.readAllLines(Path.of(args[6])).toArray(String[]::new);
    fill(source, paths.length);

    System.out.println("ready");
    System.in.read();
    long cpu = cpuNanos();
    long start = System.nanoTime();
    drain(source, client, args, paths);
    double tookMs = (System.nanoTime() - start) / 1e6;
    double cpuMs = (cpuNanos() - cpu) / 1e6;
    System.out.printf(java.util.Locale.ROOT, "peer {\"tookMs\":%.1f,\"cpuMs\":%.1f}%n", tookMs, cpuMs);
    System.exit(0);
  }

  /** Until every job has been called and its row is gone; answers what still polls. */
  private static Scheduler drain(HikariDataSource source, HttpClient client, String[] args, String[] paths) throws Exception {
    String target = args[2];
    String payload = args[4];
    CountDownLatch left = new CountDownLatch(paths.length);
    OneTimeTask<Void> task = Tasks.oneTime("call").execute((instance, context) -> {
      String id = instance.getId();
      HttpRequest request = HttpRequest.newBuilder(URI.create(target + paths[Integer.parseInt(id)]))
          .header("content-type", "application/json")
          .header("idempotency-key", "job_" + id)
          .header("x-scheduled-at", "2026-01-01T00:00:00.000Z")
          .header("x-attempt", "1")
          .POST(HttpRequest.BodyPublishers.ofString(payload))
          .build();
      try {
        HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) throw new IllegalStateException("answered " + answer.statusCode());
      } catch (java.io.IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
      left.countDown();
    });
    Scheduler scheduler = Scheduler.create(source, task)
        .threads(Integer.parseInt(args[3]))
        .pollUsingLockAndFetch(1.0, 4.0)
        .pollingInterval(Duration.ofMillis(100))
        .build();
    scheduler.start();
    left.await();
    try (var connection = source.getConnection(); var statement = connection.createStatement()) {
      for (;;) {
        var rows = statement.executeQuery("SELECT 1 FROM scheduled_tasks LIMIT 1");
        if (!rows.next()) break;
        Thread.sleep(10);
      }
    }
    return scheduler;
  }

  private static long cpuNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  /** The table as the project publishes it for MySQL. */
  private static void createTable(HikariDataSource source) throws Exception {
    try (var connection = source.getConnection(); var statement = connection.createStatement()) {
      statement.execute("DROP TABLE IF EXISTS scheduled_tasks");
      statement.execute("CREATE TABLE scheduled_tasks (task_name VARCHAR(100) NOT NULL, task_instance VARCHAR(100) NOT NULL,"
          + " task_data BLOB, execution_time TIMESTAMP(6) NOT NULL, picked BOOLEAN NOT NULL, picked_by VARCHAR(50),"
          + " last_success TIMESTAMP(6) NULL, last_failure TIMESTAMP(6) NULL, consecutive_failures INT,"
          + " last_heartbeat TIMESTAMP(6) NULL, version BIGINT NOT NULL, priority SMALLINT, state VARCHAR(20),"
          + " PRIMARY KEY (task_name, task_instance), INDEX execution_time_idx (execution_time), INDEX last_heartbeat_idx (last_heartbeat),"
          + " INDEX priority_execution_time_idx (priority DESC, execution_time ASC))");
    }
  }

  /** A row for each job. */
  private static void fill(HikariDataSource source, int jobs) throws Exception {
    try (var connection = source.getConnection()) {
      connection.setAutoCommit(false);
      try (var insert = connection.prepareStatement(
          "INSERT INTO scheduled_tasks (task_name, task_instance, execution_time, picked, version) VALUES ('call', ?, ?, false, 1)")) {
        Timestamp due = Timestamp.from(Instant.now().minusSeconds(3600));
        for (int i = 0; i < jobs; i++) {
          insert.setString(1, String.valueOf(i));
          insert.setTimestamp(2, due);
          insert.addBatch();
          if (i % 1000 == 999) insert.executeBatch();
        }
        insert.executeBatch();
      }
      connection.commit();
    }
  }
}
