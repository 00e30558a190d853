-- Which shard has which partitions: from part_first to the next row's, or to the last partition.
CREATE TABLE IF NOT EXISTS shard_map (
  part_first SMALLINT UNSIGNED NOT NULL,
  shard VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (part_first)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin;

INSERT INTO shard_map (part_first, shard) VALUES (0, '0') ON DUPLICATE KEY UPDATE part_first = part_first;
