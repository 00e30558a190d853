/**
 * ARNs of IAM callers. A role's caller is seen as `assumed-role/ROLE/SESSION`, with another session every time and without the
 * role's path; role names are unique in their account whatever their path. So a role is written without path and session, here
 * and when a caller comes: both forms meet.
 */

const ARN = /^arn:(aws(?:-[a-z]+)*):(iam|sts)::(\d{12}):(.+)$/;
/** A path or a session, then the name: what IAM lets each consist of. */
const NAME = "[\\w+=,.@-]{1,128}";
const ROLE = new RegExp(`^role/(?:[\\x21-\\x7e]{1,511}/)?(${NAME})$`);
const ASSUMED_ROLE = new RegExp(`^assumed-role/(${NAME})/${NAME}$`);
const USER = new RegExp(`^user/(?:[\\x21-\\x7e]{1,511}/)?${NAME}$`);
const FEDERATED_USER = new RegExp(`^federated-user/${NAME}$`);
const ARN_LENGTH_MAX = 512;

/** The ARN as it is stored and looked up: of a user as it is, of a role or a role's session that of the role. Null when it names no caller. */
export function normalizePrincipalArn(text: string): string | null {
  const [, partition, service, account, resource = ""] =
    text.length > ARN_LENGTH_MAX ? [] : (ARN.exec(text) ?? []);
  if (service === "sts" && FEDERATED_USER.test(resource)) return text;
  if (service === "iam" && USER.test(resource)) return text;
  const role = (service === "sts" ? ASSUMED_ROLE : ROLE).exec(resource)?.[1];
  return role === undefined ? null : `arn:${partition}:iam::${account}:role/${role}`;
}
