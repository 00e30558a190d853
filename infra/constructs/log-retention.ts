import { RetentionDays } from "aws-cdk-lib/aws-logs";

const RETENTIONS = {
  7: RetentionDays.ONE_WEEK,
  30: RetentionDays.ONE_MONTH,
  90: RetentionDays.THREE_MONTHS,
} as const;

/** CloudWatch's own constant. */
export function retentionOf(days: keyof typeof RETENTIONS): RetentionDays {
  return RETENTIONS[days];
}
