-- One execution of a task. `queue` is the one index of claim, reconcile and archive: due_at is the instant at which the next
-- service has to look at the row, whatever its status. Columns a fresh job does not need have defaults, so that the scheduler's
-- INSERT carries only what differs from row to row.
CREATE TABLE IF NOT EXISTS jobs (
  part SMALLINT UNSIGNED NOT NULL,
  id BINARY(24) NOT NULL,
  task_id BINARY(16) NOT NULL,
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  task_version INT UNSIGNED NOT NULL,
  `trigger` ENUM('schedule', 'catch_up', 'manual', 'test') NOT NULL DEFAULT 'schedule',
  status ENUM('pending', 'waiting', 'running', 'succeeded', 'dead', 'cancelled') NOT NULL DEFAULT 'pending',
  priority TINYINT UNSIGNED NOT NULL,
  queue TINYINT UNSIGNED NOT NULL,
  scheduled_at DATETIME(3) NOT NULL,
  run_at DATETIME(3) NOT NULL,
  due_at DATETIME(3) NOT NULL,
  claim_no INT UNSIGNED NOT NULL DEFAULT 0,
  attempt SMALLINT UNSIGNED NOT NULL DEFAULT 0,
  lost TINYINT UNSIGNED NOT NULL DEFAULT 0,
  max_attempts SMALLINT UNSIGNED NOT NULL,
  timeout_ms INT UNSIGNED NOT NULL,
  worker_id BINARY(16) NULL,
  cancel_reason VARCHAR(200) NULL,
  attempts JSON NULL,
  payload JSON NULL,
  finished_at DATETIME(3) NULL,
  reason VARCHAR(200) NULL,
  retry_of BINARY(24) NULL,
  covers JSON NULL,
  PRIMARY KEY (part, id),
  KEY queue (status, queue, due_at),
  KEY by_task (task_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
