import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { CallEnd, RetryPolicy } from "./retry-policy.ts";
import {
  asksToStop,
  judge,
  parseRetryAfter,
  RETRY_DEFAULT,
  RETRY_ON,
  retryDelayMs,
} from "./retry-policy.ts";

/** `unit` of 0.5 is the middle of the jitter: none. */
const MIDDLE = 0.5;
const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const DAY_MS = 86_400_000;

function answered(statusCode: number, changes: Partial<CallEnd> = {}): CallEnd {
  return { kind: "answered", statusCode, retryAfterMs: null, ...changes } as CallEnd;
}

const FAILURE = { kind: "failure", retryAfterMs: null };
const SUCCESSES = [200, 201, 202, 204, 206, 299];
const FAILURES = [100, 199, 300, 302, 304, 400, 401, 404, 408, 409, 425, 429, 500, 503, 599, 999];

describe("judge", () => {
  test("2xx is a success, 410 ends the job, everything else is a failure", () => {
    for (const code of SUCCESSES)
      assert.deepEqual(judge(answered(code), RETRY_DEFAULT), { kind: "success" });
    for (const code of FAILURES)
      assert.deepEqual(judge(answered(code), RETRY_DEFAULT), FAILURE, `${code}`);
    assert.deepEqual(judge(answered(410), RETRY_DEFAULT), {
      kind: "final",
      reason: "endpoint answered 410 Gone",
    });
    assert.deepEqual(judge(answered(429, { retryAfterMs: 5_000 }), RETRY_DEFAULT), {
      kind: "failure",
      retryAfterMs: 5_000,
    });
    for (const error of ["timeout", "dns", "tls"] as const)
      assert.deepEqual(judge({ kind: "failed", error }, RETRY_DEFAULT), FAILURE);
  });

  test("Webhook-Stop ends the job with every answer but a success", () => {
    for (const code of SUCCESSES)
      assert.deepEqual(judge(answered(code, { stop: true }), {}), { kind: "success" });
    for (const code of FAILURES) {
      const verdict = judge(answered(code, { stop: true, retryAfterMs: 1_000 }), {
        retryOn: [String(code)],
      });
      assert.deepEqual(verdict, {
        kind: "final",
        reason: `endpoint answered ${code} with Webhook-Stop`,
      });
    }
    for (const values of [["true"], [" TRUE "], ["false", "true"]]) assert(asksToStop(values));
    for (const values of [[], [""], ["false"], ["1"], ["true, true"]]) assert(!asksToStop(values));
  });

  test("retryOn narrows what is retried; what it does not name ends the job with a reason", () => {
    const retryOn = ["network", "5xx", "429"];
    const verdictOf = (end: CallEnd) => judge(end, { retryOn });
    for (const end of [
      { kind: "failed", error: "dns" } as const,
      { kind: "failed", error: "network" } as const,
      answered(429),
      answered(500),
      answered(599),
    ])
      assert.deepEqual(verdictOf(end), FAILURE);
    for (const [end, said] of [
      [{ kind: "failed", error: "timeout" }, "timeout"],
      [answered(302), "302"],
      [answered(404), "404"],
      [answered(408), "408"],
    ] as const)
      assert.deepEqual(verdictOf(end), {
        kind: "final",
        reason: `not retried: retryOn has no ${said}`,
      });
    assert.deepEqual(judge({ kind: "failed", error: "tls" }, { retryOn: ["timeout"] }), {
      kind: "final",
      reason: "not retried: retryOn has no network (tls)",
    });
    assert.equal(judge(answered(503), { retryOn: [] }).kind, "final");
    assert.deepEqual(judge(answered(200), { retryOn: [] }), { kind: "success" });
    assert.equal(judge(answered(410), { retryOn: ["4xx"] }).kind, "final");
  });

  test("a secret that is for another origin by now ends the job, whatever is retried", () => {
    for (const policy of [{}, { retryOn: ["network"] }, { retryOn: [] }])
      assert.deepEqual(judge({ kind: "failed", error: "secret-other-origin" }, policy), {
        kind: "final",
        reason: "not called: its task's secrets are for another origin now",
      });
  });

  test("RETRY_ON takes every class and every status of a failure that may be retried", () => {
    const codes = Array.from({ length: 1_000 }, (_, code) => String(code));
    const retryable = codes.filter((code) => Number(code) >= 300 && code !== "410");
    assert.deepEqual(
      codes.filter((code) => RETRY_ON.test(code)),
      retryable,
    );
    for (const name of ["network", "timeout", "3xx", "4xx", "5xx"]) assert.match(name, RETRY_ON);
    for (const name of ["", "2xx", "6xx", "5XX", "dns", "429 ", "4290"])
      assert.doesNotMatch(name, RETRY_ON);
  });
});

describe("delays", () => {
  test("the default: 10 s, 30 s, 90 s, 270 s, up to 6 h", () => {
    const delays = [1, 2, 3, 4, 8, 19].map((n) => retryDelayMs(RETRY_DEFAULT, n, MIDDLE, null));
    assert.deepEqual(delays, [10_000, 30_000, 90_000, 270_000, 21_600_000, 21_600_000]);
  });

  test("jitter varies by its share, both ways, and never beyond the maximum", () => {
    assert.equal(retryDelayMs(RETRY_DEFAULT, 1, 0, null), 8_000);
    assert.equal(retryDelayMs(RETRY_DEFAULT, 1, 0.999_999, null), 12_000);
    assert.equal(retryDelayMs(RETRY_DEFAULT, 12, 0.999_999, null), 21_600_000);
    assert.equal(retryDelayMs(RETRY_DEFAULT, 12, 0, null), 17_280_000);
    assert.equal(retryDelayMs({ ...RETRY_DEFAULT, jitter: 0 }, 1, 0, null), 10_000);
  });

  test("Retry-After only lengthens, up to the policy's maximum", () => {
    const delay = (asked: number) => retryDelayMs(RETRY_DEFAULT, 1, MIDDLE, asked);
    assert.equal(delay(60_000), 60_000);
    assert.equal(delay(1_000), 10_000);
    assert.equal(delay(-5), 10_000);
    assert.equal(delay(10 ** 15), 21_600_000);
    assert.equal(delay(Number.POSITIVE_INFINITY), 21_600_000);
  });

  test("a factor that grows beyond all numbers ends at the maximum; no delay stays none", () => {
    const steep = { ...RETRY_DEFAULT, factor: 1e300, jitter: 0 };
    assert.equal(retryDelayMs(steep, 20, MIDDLE, null), 21_600_000);
    assert.equal(retryDelayMs({ ...steep, initialDelaySeconds: 0 }, 20, MIDDLE, null), 0);
    assert.equal(retryDelayMs({ ...steep, maxDelaySeconds: 1e9 }, 20, MIDDLE, null), 7 * DAY_MS);
  });

  test("any policy, any failure: a whole number from 0 to both maxima, growing without jitter", () => {
    const policy: fc.Arbitrary<RetryPolicy> = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 20 }),
      initialDelaySeconds: fc.double({ min: 0, max: 1e9, noNaN: true }),
      factor: fc.double({ min: 1, max: 1e9, noNaN: true }),
      maxDelaySeconds: fc.double({ min: 0, max: 1e12, noNaN: true }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const asked = fc.option(fc.double({ noNaN: true }));
    const failures = fc.oneof(
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 2 ** 31 }),
    );
    fc.assert(
      fc.property(policy, failures, unit, asked, (given, n, at, retryAfterMs) => {
        const delay = retryDelayMs(given, n, at, retryAfterMs);
        assert(Number.isSafeInteger(delay) && delay >= 0, `${delay}`);
        assert(delay <= Math.min(Math.ceil(given.maxDelaySeconds * 1_000), 7 * DAY_MS));
        const steady = { ...given, jitter: 0 };
        const next = retryDelayMs(steady, n + 1, at, null);
        assert(retryDelayMs(steady, n, at, null) <= next);
      }),
      { numRuns: 500 },
    );
  });

  test("wrong arguments are our own mistakes", () => {
    assert.throws(() => retryDelayMs(RETRY_DEFAULT, 0, 0, null), /indicates a bug/);
    for (const unit of [-0.1, 1, Number.NaN]) {
      assert.throws(() => retryDelayMs(RETRY_DEFAULT, 1, unit, null), /indicates a bug/);
    }
  });
});

describe("Retry-After", () => {
  test("seconds and HTTP dates are read", () => {
    assert.equal(parseRetryAfter("120", NOW_MS), 120_000);
    assert.equal(parseRetryAfter(" 0 ", NOW_MS), 0);
    assert.equal(parseRetryAfter("Mon, 01 Jun 2026 09:00:30 GMT", NOW_MS), 30_000);
  });

  test("what makes no sense is ignored", () => {
    const values = [
      ...["", "-5", "1.5", "1e3", "NaN", "Infinity", "0x10", "9999999999", "+5", "5 s", "soon"],
      ...["2026-06-01T09:00:30Z", "Mon, 01 Jun 2026 08:59:59 GMT", "Mon, 99 Jun 2026 09:00:30 GMT"],
      ...["Mon, 01 Jun 2026 09:00:30 CET", "Mon, 01 Foo 2026 09:00:30 GMT"],
    ];
    for (const value of values) assert.equal(parseRetryAfter(value, NOW_MS), null, value);
  });
});
