-- Immutable snapshots of a task's request, timeout and retry policy; every job is bound to one.
CREATE TABLE IF NOT EXISTS task_versions (
  part SMALLINT UNSIGNED NOT NULL,
  task_id BINARY(16) NOT NULL,
  request_version INT UNSIGNED NOT NULL,
  request JSON NOT NULL,
  timeout_ms INT UNSIGNED NOT NULL,
  retry JSON NOT NULL,
  PRIMARY KEY (part, task_id, request_version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
