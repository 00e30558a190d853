-- The tables of the control database as control/ makes them, for readers: nothing runs this file, and test/integration/schema.test.ts holds it to them.

CREATE TABLE `api_keys` (
  `key_hash` binary(32) NOT NULL,
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `scopes` json NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `revoked_at` datetime(3) DEFAULT NULL,
  PRIMARY KEY (`key_hash`),
  KEY `by_tenant` (`tenant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `default_limits` (
  `scope` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `concurrency` smallint unsigned DEFAULT NULL,
  `per_second` double DEFAULT NULL,
  PRIMARY KEY (`scope`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `principals` (
  `arn` varchar(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `scopes` json NOT NULL,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`arn`),
  KEY `by_tenant` (`tenant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `shard_map` (
  `part_first` smallint unsigned NOT NULL,
  `shard` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (`part_first`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `tenants` (
  `id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `name` varchar(200) COLLATE utf8mb4_0900_bin NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `status` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'active',
  `tasks_max` int unsigned DEFAULT NULL,
  `body_bytes_max` int unsigned DEFAULT NULL,
  `min_interval_seconds` int unsigned DEFAULT NULL,
  `endpoint_concurrency` smallint unsigned DEFAULT NULL,
  `endpoint_per_second` double DEFAULT NULL,
  `weight` double DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `weighted` (`weight`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;
