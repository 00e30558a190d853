-- Concurrency and rate limits: a limit is its rows in limit_slots; a job with a limit key is listed in `limited`, a row per key.
CREATE TABLE IF NOT EXISTS limit_slots (
  limit_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slot SMALLINT UNSIGNED NOT NULL,
  worker_id BINARY(16) NULL,
  free_at DATETIME(3) NULL,
  PRIMARY KEY (limit_key, slot)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;

CREATE TABLE IF NOT EXISTS limited (
  limit_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  queue TINYINT UNSIGNED NOT NULL,
  due_at DATETIME(3) NOT NULL,
  job_id BINARY(24) NOT NULL,
  PRIMARY KEY (job_id, limit_key),
  KEY next_in_line (limit_key, queue, due_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
