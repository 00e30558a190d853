-- How much of a share a tenant has beside others; NULL follows the default, 1 (core/domain/tenant-weight.ts). Few have one: the index
-- finds those. ADD COLUMN knows no IF NOT EXISTS, and this file has to be repeatable.
SET @missing = (
  SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tenants' AND COLUMN_NAME = 'weight'
);

SET @statement = IF(@missing, 'ALTER TABLE tenants
  ADD COLUMN weight DOUBLE NULL,
  ADD INDEX weighted (weight)', 'DO 0');

PREPARE add_weight FROM @statement;

EXECUTE add_weight;

DEALLOCATE PREPARE add_weight;
