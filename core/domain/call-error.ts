/** Why a call got no answer: the codes that attempts carry, and what the reference says of each. */

export const CALL_ERRORS = {
  timeout: "no whole answer within `timeoutSeconds`",
  dns: "no address for the host",
  "destination-not-allowed": "the host's address or the port is not one that is called",
  "connection-refused": "nothing listens there",
  "connection-reset": "the connection ended before the whole answer",
  tls: "no TLS connection, such as with a certificate that is not the host's",
  protocol: "what came is no HTTP/1.1 response",
  "request-invalid": "the request cannot be sent as it is",
  network: "anything else on the way",
  interrupted: "an executor of ours stopped, or lost its database; it costs no attempt",
  "auth-failed": "the token endpoint gave no token; nothing was called",
  "secret-missing": "the task no longer has a secret that the request names; nothing was called",
  "secret-other-origin":
    "its task calls another origin by now, and has its secrets for that; nothing was called, and the job is dead",
  "secret-unreadable": "a secret does not open; nothing was called",
  "secrets-unavailable":
    "no secret can be opened now, which only a test is told; nothing was called",
  "version-missing": "the request is gone, and the job dead; nothing was called",
} as const;

export type CallError = keyof typeof CALL_ERRORS;
