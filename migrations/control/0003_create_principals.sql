-- IAM callers: the ARN of a principal and the tenant it acts for.
CREATE TABLE IF NOT EXISTS principals (
  arn VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  scopes JSON NOT NULL,
  created_at DATETIME(3) NOT NULL,
  PRIMARY KEY (arn),
  KEY by_tenant (tenant_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
