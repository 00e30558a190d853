-- Whoever looks for changes of tasks that were left half-way finds them by it. ADD KEY knows no IF NOT EXISTS, and this file has
-- to be repeatable.
SET @missing = (
  SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tasks' AND INDEX_NAME = 'jobs_below'
);

SET @statement = IF(@missing, 'ALTER TABLE tasks
  ADD KEY jobs_below (jobs_below),
  ALGORITHM = INPLACE, LOCK = NONE', 'DO 0');

PREPARE add_key FROM @statement;

EXECUTE add_key;

DEALLOCATE PREPARE add_key;
