-- What lists and housekeeping look for. live_id and ended_at are NULL where a task has none: NULLs lie outside every range.
-- ran_at is when a task that has no further occurrence was last run by hand or retried: it is kept longer then.
ALTER TABLE tasks
  ADD COLUMN live_id BINARY(16) GENERATED ALWAYS AS (IF(status = 'deleted', NULL, id)) STORED AFTER live_name,
  ADD COLUMN ran_at DATETIME(3) NULL AFTER made_until,
  ADD COLUMN ended_at DATETIME(3) GENERATED ALWAYS AS (
    CASE status
      WHEN 'deleted' THEN updated_at
      WHEN 'completed' THEN GREATEST(updated_at, COALESCE(made_until, updated_at), COALESCE(ran_at, updated_at))
    END
  ) STORED,
  ADD KEY live (tenant_id, live_id),
  ADD KEY by_status (tenant_id, status, id),
  ADD KEY ended (ended_at);
