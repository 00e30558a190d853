#!/usr/bin/env bash
# A real single-node Apache Cassandra 5 without Docker: its jars come through Maven, the node listens on 127.0.0.1 only.
#   cassandra.sh fetch BASE              put the jars in BASE (does nothing when they are there); safe when two run at once
#   cassandra.sh start BASE DIR [PORT]   start a node on DIR's data, return once it answers CQL; no PORT: a free one
#   cassandra.sh stop DIR                stop DIR's node and wait for its end; data is kept
#   cassandra.sh kill DIR                the same with kill -9, for crash tests
# Settings by environment: CASSANDRA_HEAP (384m), CASSANDRA_JIT (c1, or full), CASSANDRA_SYNC (periodic: kill -9 can lose the
# last 0.1 s of acknowledged writes; group: an acknowledged write stays).
# Every subcommand may be repeated. What the machine misses (Java, Maven) is installed through apt-get when root.
set -euo pipefail
VERSION=5.0.9 COPY_PLUGIN=3.6.1
# sha256 of what `sha256sum *.jar` prints for the 86 jars, in C order
LIB_SHA256=858bd0e05ee4b143b2af2b6fb7b0da70b0a5f00ea1e8b46f937fb2c2315bd01f
LOCK_SECONDS=540 START_SECONDS=120 STOP_SECONDS=30

die() { echo "cassandra.sh: $*" >&2; exit 1; }
say() { echo "$*" >&2; }
[ $# -ge 2 ] || { sed -n '2,9s/^# //p' "$0" >&2; exit 2; }

root() { [ "$(id -u)" = 0 ]; }
install() { # what it is, package
  root && command -v apt-get >/dev/null 2>&1 || return 1
  say "installing $1"
  "$here/apt.sh" install "$2"
}

# Cassandra 5 is made for Java 17, and runs on 21 where it may set its security manager; the machine's default may be another.
fit_java() {
  local v j
  for v in 17 21; do
    for j in java "${JAVA_HOME:-/nowhere}/bin/java" /usr/lib/jvm/*"$v"*/bin/java; do
      if "$j" -version 2>&1 | grep -q " version \"$v[.\"]"; then echo "$j"; return; fi
    done
  done
  return 1
}

# The pid of DIR's node, if it runs; a pid that another program has by now does not count.
running() {
  local p; p=$(cat "$dir/cassandra.pid" 2>/dev/null) && [ -n "$p" ] &&
    grep -qzxF -- "@$dir/conf/jvm.options" "/proc/$p/cmdline" 2>/dev/null && echo "$p"
}
# A zombie is not alive, once its other threads are gone too.
alive() {
  local t
  ! grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null || return 0
  t=("/proc/$1/task/"*); [ ${#t[@]} -gt 1 ]
}
port_taken() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
  awk -v p="$(printf '%04X' "$1")" '$4 == "0A" { n = split($2, a, ":"); if (a[n] == p) f = 1 } END { exit !f }'; }
free_port() { # below the range for outgoing connections, not $1
  local p
  for _ in $(seq 200); do
    p=$((20000 + RANDOM % 12000))
    if [ "$p" != "$1" ] && ! port_taken "$p"; then echo "$p"; return; fi
  done
  die "no free port"
}
# Does a CQL server answer? (OPTIONS frame of protocol 4; the reply starts with 0x84)
cql_answers() {
  local b
  b=$( { exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
         printf '\x04\x00\x00\x00\x05\x00\x00\x00\x00' >&3
         timeout 5 head -c1 <&3 | od -An -tx1; } 2>/dev/null ) && [ "$b" = " 84" ]
}

fetched() { [ "$(cat "$base/.ok" 2>/dev/null)" = "$LIB_SHA256" ]; }

fetch() {
  local t=$base.tmp cache=${base%/*} sha
  [ ! -e "$base" ] || [ -f "$base/.ok" ] || die "$base is not ours: choose another LOCAL_CACHE, or move it away"
  fetched || [ -w "$cache" ] || die "$cache cannot be written: choose another LOCAL_CACHE"
  fit_java >/dev/null || install Java 'openjdk-17-jre-headless|openjdk-21-jre-headless' || true
  fit_java >/dev/null || die "no Java 17 or 21 on this machine: run 'sudo apt-get update && sudo apt-get install -y openjdk-21-jre-headless' (on Debian 12 openjdk-17-jre-headless), name one in JAVA_HOME, or set CASSANDRA_CONTACT_POINTS"
  ! fetched || return 0
  exec 9>"$base.lock"
  flock -n 9 || { say "another start is fetching Cassandra: waiting for it"; flock -w "$LOCK_SECONDS" 9 || die "another start holds $base.lock"; }
  ! fetched || return 0
  command -v mvn >/dev/null 2>&1 || install maven maven || true
  command -v mvn >/dev/null 2>&1 || die "no mvn on this machine: run 'sudo apt-get update && sudo apt-get install -y maven', or set CASSANDRA_CONTACT_POINTS"
  rm -rf "$t" "$base"; mkdir -p "$t"
  say "fetching Cassandra $VERSION through Maven (about 70 MB)"
  # Left out: OpenSSL for five platforms (there is no TLS on loopback) and what only nodetool needs.
  cat >"$t/pom.xml" <<X
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>cassandra-node</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>$VERSION</version>
      <exclusions>
        <exclusion><groupId>io.netty</groupId><artifactId>netty-tcnative-boringssl-static</artifactId></exclusion>
        <exclusion><groupId>org.gridkit.jvmtool</groupId><artifactId>*</artifactId></exclusion>
        <exclusion><groupId>org.gridkit.lab</groupId><artifactId>*</artifactId></exclusion>
        <exclusion><groupId>com.beust</groupId><artifactId>jcommander</artifactId></exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
X
  for n in 1 2 3; do # Maven keeps what it has got: a retry asks for the rest only
    mvn -B -q -ntp -C -Dmaven.repo.local="$cache/maven" -f "$t/pom.xml" \
      "org.apache.maven.plugins:maven-dependency-plugin:$COPY_PLUGIN:copy-dependencies" \
      -DincludeScope=runtime -DoutputDirectory="$t/lib" 9>&- >"$t/mvn.log" 2>&1 && break
    { grep -m1 ERROR "$t/mvn.log" || head -n1 "$t/mvn.log"; } | sed 's|\x1b\[[0-9;]*m||g' | cut -c1-600 >&2
    [ "$n" != 3 ] || die "Maven could not get Cassandra: is the network there, and room in $cache? Or set CASSANDRA_CONTACT_POINTS"
    sleep 2
  done
  sha=$(cd "$t/lib"; export LC_ALL=C; sha256sum -- *.jar | sha256sum | cut -d' ' -f1)
  [ "$sha" = "$LIB_SHA256" ] || die "the fetched jars are not the pinned ones ($sha): nothing was installed"
  echo "$sha" >"$t/lib/.ok"; mv "$t/lib" "$base"; rm -rf "$t"
}

configure() { # CQL port, storage port
  local sync threads m
  case ${CASSANDRA_SYNC:-periodic} in
    periodic) sync=$'commitlog_sync: periodic\ncommitlog_sync_period: 10000ms' threads=32 ;;
    group) sync=$'commitlog_sync: group\ncommitlog_sync_group_window: 5ms' threads=128 ;; # a writer waits for the disk: more of them
    *) die "CASSANDRA_SYNC is periodic or group" ;;
  esac
  mkdir -p "$dir/conf/triggers" "$dir/data" "$dir/log"
  cat >"$dir/conf/cassandra.yaml" <<X
cluster_name: local
num_tokens: 1
initial_token: 0
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
authenticator: AllowAllAuthenticator
authorizer: AllowAllAuthorizer
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
storage_port: $2
native_transport_port: $1
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:$2"
data_file_directories: [$dir/data/data]
commitlog_directory: $dir/data/commitlog
saved_caches_directory: $dir/data/saved_caches
hints_directory: $dir/data/hints
cdc_raw_directory: $dir/data/cdc_raw
$sync
commitlog_segment_size: 16MiB
storage_compatibility_mode: NONE
memtable:
  configurations:
    trie:
      class_name: TrieMemtable
    default:
      inherits: trie
memtable_allocation_type: heap_buffers
concurrent_compactors: 1
file_cache_size: 32MiB
networking_cache_size: 16MiB
native_transport_max_threads: $threads
concurrent_writes: $threads
auto_snapshot: false
hinted_handoff_enabled: false
dynamic_snitch: false
# a busy two-core machine is slow, not broken
read_request_timeout: 20000ms
range_request_timeout: 20000ms
write_request_timeout: 20000ms
truncate_request_timeout: 60000ms
request_timeout: 20000ms
X
  cat >"$dir/conf/logback.xml" <<'X'
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %d{ISO8601} [%thread] %logger{0}:%line - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
X
  cat >"$dir/conf/jvm.options" <<X
-Xms64m
-Xmx${CASSANDRA_HEAP:-384m}
-Xss256k
-XX:+UseSerialGC
-XX:MaxDirectMemorySize=256m
-XX:+ExitOnOutOfMemoryError
-XX:+PerfDisableSharedMem
-Xlog:disable
-Xlog:all=error:stderr
-Djava.net.preferIPv4Stack=true
-Djava.awt.headless=true
-Djava.security.manager=allow
-Djdk.attach.allowAttachSelf=true
-Dio.netty.tryReflectionSetAccessible=true
-Dchronicle.analytics.disable=true
-Dchronicle.announcer.disable=true
-Dlogback.configurationFile=file://$dir/conf/logback.xml
-Dcassandra.config=file://$dir/conf/cassandra.yaml
-Dcassandra.storagedir=$dir/data
-Dcassandra.logdir=$dir/log
-Dcassandra.triggers_dir=$dir/conf/triggers
-Dcassandra-foreground=yes
-Dcassandra.skip_wait_for_gossip_to_settle=0
-Dcassandra.ring_delay_ms=0
-Dcassandra.shutdown_announce_in_ms=0
-Dcassandra.memtable.row_overhead_size=180
-Dcassandra.test.messagingService.nonGracefulShutdown=true
-Dcassandra.test.ignore_sigar=true
X
  # What Cassandra's own conf/jvm17-server.options opens.
  for m in java.base/jdk.internal.misc java.base/java.lang.ref java.sql/java.sql java.rmi/sun.rmi.registry \
           java.rmi/sun.rmi.server java.management.rmi/com.sun.jmx.remote.internal.rmi \
           jdk.unsupported/sun.misc jdk.attach/sun.tools.attach jdk.compiler/com.sun.tools.javac.file
  do echo "--add-exports=$m=ALL-UNNAMED"; done >>"$dir/conf/jvm.options"
  for m in java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect java.base/java.io \
           java.base/java.nio java.base/java.util java.base/sun.nio.ch java.base/jdk.internal.loader \
           java.base/jdk.internal.ref java.base/jdk.internal.reflect java.base/jdk.internal.math \
           java.base/jdk.internal.module java.base/jdk.internal.util.jar \
           jdk.management/com.sun.management.internal jdk.compiler/com.sun.tools.javac
  do echo "--add-opens=$m=ALL-UNNAMED"; done >>"$dir/conf/jvm.options"
  [ "${CASSANDRA_JIT:-c1}" = full ] || echo -XX:TieredStopAtLevel=1 >>"$dir/conf/jvm.options"
}

start() {
  local p java jars pre=() log=$dir/log/cassandra.log
  if p=$(running); then
    port=$(cat "$dir/cassandra.port")
  else
    fetched || die "fetch first"
    java=$(fit_java) || die "no Java 17 or 21: fetch first"
    [ "$port" != 0 ] || port=$(free_port 0)
    ! port_taken "$port" || die "port $port is taken: choose another with CASSANDRA_PORT"
    configure "$port" "$(free_port "$port")"
    jars=$(printf '%s:' "$base"/*.jar)
    # Cassandra would pin its heap in memory: as root, drop the right to it; else the limit does it.
    ! root || pre=(setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock)
    "${pre[@]}" true 2>/dev/null || pre=()
    : >"$log"; echo "$port" >"$dir/cassandra.port"
    # Its own session: a Ctrl-C in the terminal is for the supervisor, which stops the workers before their database.
    (cd "$dir"; ulimit -l 64 2>/dev/null || true; trap '' INT
      exec setsid "${pre[@]}" "$java" "@$dir/conf/jvm.options" -cp "${jars%:}" org.apache.cassandra.service.CassandraDaemon) \
      >>"$log" 2>&1 </dev/null 9>&- &
    p=$!; disown; echo "$p" >"$dir/cassandra.pid"
  fi
  for _ in $(seq $((START_SECONDS * 10))); do
    if cql_answers "$port"; then echo "cassandra ready on 127.0.0.1:$port pid $p"; return; fi
    alive "$p" || break; sleep 0.1
  done
  tail -n 20 "$log" >&2; die "did not start; see $log"
}

stop() { # signal
  local p; p=$(running) || { echo "not running"; return; }
  kill "-$1" "$p"; for _ in $(seq $((STOP_SECONDS * 10))); do alive "$p" || break; sleep 0.1; done
  if alive "$p"; then kill -9 "$p"; fi
  rm -f "$dir/cassandra.pid"; echo stopped
}

here=$(cd "$(dirname "$0")" && pwd -P)
absolute() { mkdir -p "$1"; (cd "$1" && pwd -P); }
lock() { exec 9>"$dir/.lock"; flock -w 150 9 || die "another cassandra.sh holds $dir"; }
case $1 in
fetch) mkdir -p "$(dirname "$2")" 2>/dev/null || die "$(dirname "$2") cannot be made: choose another LOCAL_CACHE"
  base=$(absolute "$(dirname "$2")")/$(basename "$2"); fetch ;;
start)
  [ $# -ge 3 ] || die "start BASE DIR [PORT]"
  base=$(absolute "$(dirname "$2")")/$(basename "$2") dir=$(absolute "$3") port=${4:-0}
  case $port in *[!0-9]*) die "no port: $port" ;; esac
  case $dir in *[[:space:],\"\'\\]*) die "no blanks, commas, quotes or backslashes in the path: $dir" ;; esac
  lock; start ;;
stop|kill) [ -d "$2" ] || { echo "not running"; exit 0; }
  dir=$(absolute "$2"); lock
  if [ "$1" = kill ]; then stop KILL; else stop TERM; fi ;;
*) die "no such subcommand: $1" ;;
esac
