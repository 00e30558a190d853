-- The key of the endpoint that a task calls, of its newest version: whoever makes its jobs joins the limits by it.
ALTER TABLE tasks
  ADD COLUMN endpoint_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NULL,
  ALGORITHM = INSTANT;
