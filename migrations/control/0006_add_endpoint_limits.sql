-- Caps of each endpoint that a tenant's tasks call; NULL: none. ADD COLUMN knows no IF NOT EXISTS, and this file has to be repeatable.
SET @missing = (
  SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tenants' AND COLUMN_NAME = 'endpoint_concurrency'
);

SET @statement = IF(@missing, 'ALTER TABLE tenants
  ADD COLUMN endpoint_concurrency SMALLINT UNSIGNED NULL,
  ADD COLUMN endpoint_per_second DOUBLE NULL', 'DO 0');

PREPARE add_columns FROM @statement;

EXECUTE add_columns;

DEALLOCATE PREPARE add_columns;
