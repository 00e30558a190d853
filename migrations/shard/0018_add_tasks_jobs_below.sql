-- Set while a pause, delete or resume has not reached all jobs of its task: it has yet to reach those with ids below this one. ADD COLUMN
-- knows no IF NOT EXISTS, and this file has to be repeatable.
SET @missing = (
  SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tasks' AND COLUMN_NAME = 'jobs_below'
);

SET @statement = IF(@missing, 'ALTER TABLE tasks
  ADD COLUMN jobs_below BINARY(24) NULL,
  ALGORITHM = INSTANT', 'DO 0');

PREPARE add_column FROM @statement;

EXECUTE add_column;

DEALLOCATE PREPARE add_column;
