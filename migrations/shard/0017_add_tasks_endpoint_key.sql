-- The key of the endpoint that a task calls, of its newest version: whoever makes its jobs looks for a limit by it. ADD COLUMN
-- knows no IF NOT EXISTS, and this file has to be repeatable.
SET @missing = (
  SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tasks' AND COLUMN_NAME = 'endpoint_key'
);

SET @statement = IF(@missing, 'ALTER TABLE tasks
  ADD COLUMN endpoint_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NULL,
  ALGORITHM = INSTANT', 'DO 0');

PREPARE add_column FROM @statement;

EXECUTE add_column;

DEALLOCATE PREPARE add_column;
