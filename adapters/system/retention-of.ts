import type { Retention } from "#core/domain/job.ts";

/** Retention from the two settings (`retentionEnv`) of every process that ends jobs, or that removes tasks whose jobs have ended. */
export function retentionOf(env: {
  readonly ARCHIVE_SUCCEEDED_AFTER_SECONDS: number;
  readonly ARCHIVE_ENDED_AFTER_SECONDS: number;
}): Retention {
  return {
    succeededMs: env.ARCHIVE_SUCCEEDED_AFTER_SECONDS * 1_000,
    endedMs: env.ARCHIVE_ENDED_AFTER_SECONDS * 1_000,
  };
}
