-- What executors give back unsent: all jobs of a task (job_id NULL) or one, claimed at or before `at`.
CREATE TABLE IF NOT EXISTS revocations (
  seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  at DATETIME(3) NOT NULL,
  task_id BINARY(16) NOT NULL,
  job_id BINARY(24) NULL,
  PRIMARY KEY (seq),
  KEY at (at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
