-- The first answer to a request that carried an Idempotency-Key, written in the transaction that makes the task or job.
CREATE TABLE IF NOT EXISTS idempotency_keys (
  part SMALLINT UNSIGNED NOT NULL,
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  route VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `key` VARCHAR(255) NOT NULL,
  body_hash BINARY(32) NOT NULL,
  answer MEDIUMTEXT NULL,
  expires_at DATETIME(3) NOT NULL,
  PRIMARY KEY (part, tenant_id, route, `key`),
  KEY expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
