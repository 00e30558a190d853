export interface Random {
  /** `length` random bytes, fit for ids. */
  bytes(length: number): Uint8Array;
  /** Uniform in [0, 1). */
  unit(): number;
}
