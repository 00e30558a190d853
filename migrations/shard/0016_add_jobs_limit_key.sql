-- The line in which a job stands whenever another would be pending: set when it is made.
ALTER TABLE jobs
  ADD COLUMN limit_key VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NULL,
  ALGORITHM = INSTANT;
