-- Limits of calls, by key: a tenant's id (all its calls), or that, `|` and an endpoint. The tenant's numbers and the operator's caps; the
-- smaller holds. next_call_at: of a rate, no call starts before.
CREATE TABLE IF NOT EXISTS call_limits (
  limit_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  concurrency SMALLINT UNSIGNED NULL,
  per_second DOUBLE NULL,
  concurrency_max SMALLINT UNSIGNED NULL,
  per_second_max DOUBLE NULL,
  next_call_at DATETIME(6) NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (limit_key)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
