-- The list of dead jobs: a table because MySQL has no partial index. Written before the job becomes dead; readers join on
-- the job's status, so a row left by a crash in between is hidden.
CREATE TABLE IF NOT EXISTS dead_letters (
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  job_id BINARY(24) NOT NULL,
  part SMALLINT UNSIGNED NOT NULL,
  task_id BINARY(16) NOT NULL,
  died_at DATETIME(3) NOT NULL,
  PRIMARY KEY (tenant_id, job_id),
  KEY by_time (tenant_id, died_at, job_id),
  KEY by_task (tenant_id, task_id, died_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
