-- Secrets, sealed under data keys of their tenants, which are wrapped by a master key that is not here.
CREATE TABLE IF NOT EXISTS data_keys (
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  purpose VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id BINARY(16) NOT NULL,
  wrapped VARBINARY(1024) NOT NULL,
  created_at DATETIME(3) NOT NULL,
  PRIMARY KEY (tenant_id, purpose, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;

-- What task_versions only name: a rotated secret holds for jobs that exist already. version grows with every change.
CREATE TABLE IF NOT EXISTS task_secrets (
  part SMALLINT UNSIGNED NOT NULL,
  task_id BINARY(16) NOT NULL,
  name VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL,
  fingerprint BINARY(32) NOT NULL,
  sealed BLOB NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (part, task_id, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;

-- What calls are signed with: the one with the highest seq, and the one before it until expires_at.
CREATE TABLE IF NOT EXISTS signing_secrets (
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq INT UNSIGNED NOT NULL,
  id BINARY(8) NOT NULL,
  fingerprint BINARY(32) NOT NULL,
  sealed VARBINARY(1024) NOT NULL,
  created_at DATETIME(3) NOT NULL,
  expires_at DATETIME(3) NULL,
  PRIMARY KEY (tenant_id, seq)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
