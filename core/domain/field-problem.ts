/** What is wrong with a field of a request. `field` is dotted, as the caller wrote it: `schedule.expression`; empty for the body as a whole. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}
