-- The tables of a shard as shard/ makes them, for readers: nothing runs this file, and test/integration/schema.test.ts holds it to them.

CREATE TABLE `call_limits` (
  `limit_key` varchar(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `concurrency` smallint unsigned DEFAULT NULL,
  `per_second` double DEFAULT NULL,
  `concurrency_max` smallint unsigned DEFAULT NULL,
  `per_second_max` double DEFAULT NULL,
  `next_call_at` datetime(6) DEFAULT NULL,
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`limit_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `data_keys` (
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `purpose` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `id` binary(16) NOT NULL,
  `wrapped` varbinary(1024) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`tenant_id`,`purpose`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `dead_letters` (
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `job_id` binary(24) NOT NULL,
  `part` smallint unsigned NOT NULL,
  `task_id` binary(16) NOT NULL,
  `died_at` datetime(3) NOT NULL,
  PRIMARY KEY (`tenant_id`,`job_id`),
  KEY `by_time` (`tenant_id`,`died_at`,`job_id`),
  KEY `by_task` (`tenant_id`,`task_id`,`died_at`,`job_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `idempotency_keys` (
  `part` smallint unsigned NOT NULL,
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `route` varchar(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `key` varchar(255) COLLATE utf8mb4_0900_bin NOT NULL,
  `body_hash` binary(32) NOT NULL,
  `answer` mediumtext COLLATE utf8mb4_0900_bin,
  `expires_at` datetime(3) NOT NULL,
  PRIMARY KEY (`part`,`tenant_id`,`route`,`key`),
  KEY `expires` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `jobs` (
  `part` smallint unsigned NOT NULL,
  `id` binary(24) NOT NULL,
  `task_id` binary(16) NOT NULL,
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `task_version` int unsigned NOT NULL,
  `trigger` enum('schedule','catch_up','manual','test') COLLATE utf8mb4_0900_bin NOT NULL DEFAULT 'schedule',
  `status` enum('pending','waiting','running','succeeded','dead','cancelled') COLLATE utf8mb4_0900_bin NOT NULL DEFAULT 'pending',
  `priority` tinyint unsigned NOT NULL,
  `queue` tinyint unsigned NOT NULL,
  `scheduled_at` datetime(3) NOT NULL,
  `run_at` datetime(3) NOT NULL,
  `due_at` datetime(3) NOT NULL,
  `claim_no` int unsigned NOT NULL DEFAULT '0',
  `attempt` smallint unsigned NOT NULL DEFAULT '0',
  `lost` tinyint unsigned NOT NULL DEFAULT '0',
  `max_attempts` smallint unsigned NOT NULL,
  `timeout_ms` int unsigned NOT NULL,
  `worker_id` binary(16) DEFAULT NULL,
  `cancel_reason` varchar(200) COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `attempts` json DEFAULT NULL,
  `payload` json DEFAULT NULL,
  `finished_at` datetime(3) DEFAULT NULL,
  `reason` varchar(200) COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `retry_of` binary(24) DEFAULT NULL,
  `covers` json DEFAULT NULL,
  `limit_key` varchar(300) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  PRIMARY KEY (`part`,`id`),
  KEY `queue` (`status`,`queue`,`due_at`),
  KEY `by_task` (`task_id`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `limit_slots` (
  `limit_key` varchar(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `worker_id` binary(16) NOT NULL,
  `slots` smallint unsigned NOT NULL,
  `taken_at` datetime(3) NOT NULL,
  PRIMARY KEY (`limit_key`,`worker_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `limited` (
  `job_id` binary(24) NOT NULL,
  `part` smallint unsigned NOT NULL,
  `limit_key` varchar(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `queue` tinyint unsigned NOT NULL,
  `due_at` datetime(3) NOT NULL,
  PRIMARY KEY (`job_id`),
  KEY `next_in_line` (`limit_key`,`queue`,`due_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `revocations` (
  `seq` bigint unsigned NOT NULL AUTO_INCREMENT,
  `at` datetime(3) NOT NULL,
  `task_id` binary(16) NOT NULL,
  `job_id` binary(24) DEFAULT NULL,
  PRIMARY KEY (`seq`),
  KEY `at` (`at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `signing_secrets` (
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `seq` int unsigned NOT NULL,
  `id` binary(8) NOT NULL,
  `fingerprint` binary(32) NOT NULL,
  `sealed` varbinary(1024) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `expires_at` datetime(3) DEFAULT NULL,
  PRIMARY KEY (`tenant_id`,`seq`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `task_secrets` (
  `part` smallint unsigned NOT NULL,
  `task_id` binary(16) NOT NULL,
  `name` varchar(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `version` int unsigned NOT NULL,
  `fingerprint` binary(32) NOT NULL,
  `sealed` blob NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`part`,`task_id`,`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `task_versions` (
  `part` smallint unsigned NOT NULL,
  `task_id` binary(16) NOT NULL,
  `request_version` int unsigned NOT NULL,
  `request` json NOT NULL,
  `timeout_ms` int unsigned NOT NULL,
  `retry` json NOT NULL,
  PRIMARY KEY (`part`,`task_id`,`request_version`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `tasks` (
  `part` smallint unsigned NOT NULL,
  `id` binary(16) NOT NULL,
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `name` varchar(200) COLLATE utf8mb4_0900_bin NOT NULL,
  `live_name` varchar(200) COLLATE utf8mb4_0900_bin GENERATED ALWAYS AS (if((`status` = _utf8mb4'deleted'),NULL,`name`)) STORED,
  `live_id` binary(16) GENERATED ALWAYS AS (if((`status` = _utf8mb4'deleted'),NULL,`id`)) STORED,
  `description` varchar(2000) COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `tags` json NOT NULL,
  `status` enum('active','paused','completed','deleted') COLLATE utf8mb4_0900_bin NOT NULL,
  `schedule` json NOT NULL,
  `priority` tinyint unsigned NOT NULL,
  `catch_up` enum('all','latest','none') COLLATE utf8mb4_0900_bin NOT NULL,
  `start_at` datetime(3) DEFAULT NULL,
  `end_at` datetime(3) DEFAULT NULL,
  `next_run_at` datetime(3) DEFAULT NULL,
  `made_until` datetime(3) DEFAULT NULL,
  `ran_at` datetime(3) DEFAULT NULL,
  `version` int unsigned NOT NULL,
  `request_version` int unsigned NOT NULL,
  `timeout_ms` int unsigned NOT NULL,
  `max_attempts` smallint unsigned NOT NULL,
  `error` varchar(1000) COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  `ended_at` datetime(3) GENERATED ALWAYS AS ((case `status` when _utf8mb4'deleted' then `updated_at` when _utf8mb4'completed' then greatest(`updated_at`,coalesce(`made_until`,`updated_at`),coalesce(`ran_at`,`updated_at`)) end)) STORED,
  `endpoint_key` varchar(300) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `jobs_below` binary(24) DEFAULT NULL,
  PRIMARY KEY (`part`,`id`),
  UNIQUE KEY `tenant_live_name` (`tenant_id`,`live_name`),
  KEY `next_run` (`status`,`priority`,`next_run_at`),
  KEY `live` (`tenant_id`,`live_id`),
  KEY `by_status` (`tenant_id`,`status`,`id`),
  KEY `ended` (`ended_at`),
  KEY `jobs_below` (`jobs_below`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `tenant_locks` (
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (`tenant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `test_calls` (
  `tenant_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `recent` json NOT NULL,
  PRIMARY KEY (`tenant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `workers` (
  `id` binary(16) NOT NULL,
  `lease_until` datetime(3) NOT NULL,
  `fenced_at` datetime(3) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;
