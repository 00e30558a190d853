-- A task: what a tenant asked for. Its request, timeout and retry policy are in task_versions; timeout_ms and max_attempts are
-- copied from its newest version, so that the scheduler's tick reads one row per task.
-- live_name frees the name of a deleted task: NULLs never collide.
CREATE TABLE IF NOT EXISTS tasks (
  part SMALLINT UNSIGNED NOT NULL,
  id BINARY(16) NOT NULL,
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(200) NOT NULL,
  live_name VARCHAR(200) GENERATED ALWAYS AS (IF(status = 'deleted', NULL, name)) STORED,
  description VARCHAR(2000) NULL,
  tags JSON NOT NULL,
  status ENUM('active', 'paused', 'completed', 'deleted') NOT NULL,
  schedule JSON NOT NULL,
  priority TINYINT UNSIGNED NOT NULL,
  catch_up ENUM('all', 'latest', 'none') NOT NULL,
  start_at DATETIME(3) NULL,
  end_at DATETIME(3) NULL,
  next_run_at DATETIME(3) NULL,
  made_until DATETIME(3) NULL,
  version INT UNSIGNED NOT NULL,
  request_version INT UNSIGNED NOT NULL,
  timeout_ms INT UNSIGNED NOT NULL,
  max_attempts SMALLINT UNSIGNED NOT NULL,
  error VARCHAR(1000) NULL,
  created_at DATETIME(3) NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (part, id),
  UNIQUE KEY tenant_live_name (tenant_id, live_name),
  KEY next_run (status, priority, next_run_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
