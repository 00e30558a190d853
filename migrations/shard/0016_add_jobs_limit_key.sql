-- The line in which a job stands whenever another would be pending: set when it is made. ADD COLUMN
-- knows no IF NOT EXISTS, and this file has to be repeatable.
SET @missing = (
  SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'jobs' AND COLUMN_NAME = 'limit_key'
);

SET @statement = IF(@missing, 'ALTER TABLE jobs
  ADD COLUMN limit_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NULL,
  ALGORITHM = INSTANT', 'DO 0');

PREPARE add_column FROM @statement;

EXECUTE add_column;

DEALLOCATE PREPARE add_column;
