-- How many slots of a limit each worker holds, as of its last take. The tables of 0007 were never written.
DROP TABLE IF EXISTS limit_slots, limited;

CREATE TABLE IF NOT EXISTS limit_slots (
  limit_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  worker_id BINARY(16) NOT NULL,
  slots SMALLINT UNSIGNED NOT NULL,
  taken_at DATETIME(3) NOT NULL,
  PRIMARY KEY (limit_key, worker_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;

-- Every waiting job, in the line of its one key.
CREATE TABLE IF NOT EXISTS limited (
  job_id BINARY(24) NOT NULL,
  part SMALLINT UNSIGNED NOT NULL,
  limit_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  queue TINYINT UNSIGNED NOT NULL,
  due_at DATETIME(3) NOT NULL,
  PRIMARY KEY (job_id),
  KEY next_in_line (limit_key, queue, due_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
