/** Reconciler and archiver run every minute, whatever became of the last run; nothing is tried for ever. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeCell, type Properties, resourcesOf, STAGES } from "./cell-templates.ts";

for (const stage of STAGES) {
  const { ticks } = makeCell(stage);
  const [queue, ...more] = resourcesOf(ticks, "AWS::SQS::Queue");
  assert.ok(queue && more.length === 0);
  const deadLetters = { "Fn::GetAtt": [queue[0], "Arn"] };

  describe(`ticks of ${stage}`, () => {
    it("are two rules, each minute, each with one function", () => {
      const rules = resourcesOf(ticks, "AWS::Events::Rule");
      assert.equal(rules.length, 2);
      for (const [, { Properties }] of rules) {
        assert.equal(Properties.ScheduleExpression, "rate(1 minute)");
        assert.equal(Properties.State, "ENABLED");
        assert.equal((Properties.Targets as unknown[]).length, 1);
      }
    });

    it("are tried again by EventBridge twice, within a minute; then they are dead letters", () => {
      for (const [id, { Properties }] of resourcesOf(ticks, "AWS::Events::Rule")) {
        const [target] = Properties.Targets as Properties[];
        assert.deepEqual(
          target?.RetryPolicy,
          { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 60 },
          id,
        );
        assert.deepEqual(target?.DeadLetterConfig, { Arn: deadLetters }, id);
      }
    });

    it("have room of their own in production, whatever the API takes; a small account could not keep it free", () => {
      const functions = resourcesOf(ticks, "AWS::Lambda::Function");
      assert.equal(functions.length, 2);
      for (const [id, { Properties }] of functions)
        assert.equal(Properties.ReservedConcurrentExecutions, stage === "prod" ? 3 : undefined, id);
    });

    it("are not run again by Lambda; what failed is a dead letter", () => {
      const bounds = resourcesOf(ticks, "AWS::Lambda::EventInvokeConfig");
      assert.equal(bounds.length, 2);
      for (const [id, { Properties }] of bounds) {
        assert.equal(Properties.MaximumRetryAttempts, 0, id);
        assert.deepEqual(
          Properties.DestinationConfig,
          { OnFailure: { Destination: deadLetters } },
          id,
        );
      }
    });
  });
}
