-- A task's dead letters in the order of the list: with the job's id, or pages of them are sorted each time.
ALTER TABLE dead_letters
  DROP KEY by_task,
  ADD KEY by_task (tenant_id, task_id, died_at, job_id);
