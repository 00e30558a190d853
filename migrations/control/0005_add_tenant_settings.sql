-- Status: active or disabled. Quotas: NULL follows the default (core/domain/limits.ts). ADD COLUMN knows no IF NOT EXISTS, and
-- this file has to be repeatable.
SET @missing = (
  SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tenants' AND COLUMN_NAME = 'status'
);

SET @statement = IF(@missing, "ALTER TABLE tenants
  ADD COLUMN status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'active',
  ADD COLUMN tasks_max INT UNSIGNED NULL,
  ADD COLUMN body_bytes_max INT UNSIGNED NULL,
  ADD COLUMN min_interval_seconds INT UNSIGNED NULL", 'DO 0');

PREPARE add_columns FROM @statement;

EXECUTE add_columns;

DEALLOCATE PREPARE add_columns;
