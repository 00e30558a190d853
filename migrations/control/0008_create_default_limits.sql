-- Caps of calls for tenants that have none of their own; NULL: none. Of scope `endpoint`, its only row: for each endpoint that tasks call.
CREATE TABLE IF NOT EXISTS default_limits (
  scope VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  concurrency SMALLINT UNSIGNED NULL,
  per_second DOUBLE NULL,
  PRIMARY KEY (scope)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;
