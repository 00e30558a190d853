-- Leases of executors: one row per process life.
CREATE TABLE IF NOT EXISTS workers (
  id BINARY(16) NOT NULL,
  lease_until DATETIME(3) NOT NULL,
  fenced_at DATETIME(3) NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
