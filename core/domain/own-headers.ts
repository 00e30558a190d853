/** Headers by which an endpoint knows our calls: sent with each, and none that a tenant may set. */
export const OWN_HEADERS = ["idempotency-key", "x-scheduled-at", "x-attempt"] as const;
export type OwnHeader = (typeof OWN_HEADERS)[number];
