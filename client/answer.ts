/** What an operation resolves to. */
export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; text where it is no JSON, null where there is none. */
  readonly body: Body;
}
