-- When each tenant had tasks called as a test lately: epoch ms, oldest first. Whoever adds one holds the tenant's row.
CREATE TABLE IF NOT EXISTS test_calls (
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  recent JSON NOT NULL,
  PRIMARY KEY (tenant_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
