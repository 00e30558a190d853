-- One row per tenant that has come near its quota of tasks: whoever adds the last ones counts under its lock.
CREATE TABLE IF NOT EXISTS tenant_locks (
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (tenant_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
