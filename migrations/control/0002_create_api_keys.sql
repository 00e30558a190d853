-- A key is stored as its SHA-256 only. A tenant may have two live keys, for rotation. scopes: JSON list of read, write, admin.
CREATE TABLE IF NOT EXISTS api_keys (
  key_hash BINARY(32) NOT NULL,
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  scopes JSON NOT NULL,
  created_at DATETIME(3) NOT NULL,
  revoked_at DATETIME(3) NULL,
  PRIMARY KEY (key_hash),
  KEY by_tenant (tenant_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
