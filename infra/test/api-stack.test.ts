/** The API as API Gateway is told: the route table, who may call, what it says when it refuses. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ROUTES } from "#functions/_shared/routes.ts";
import {
  makeCell,
  type NamedResource,
  type Properties,
  resourcesOf,
  STAGES,
} from "./cell-templates.ts";

/** Of AWSManagedRulesCommonRuleSet, as AWS documents it. */
const COMMON_RULES = [
  "NoUserAgent_HEADER",
  "UserAgent_BadBots_HEADER",
  "SizeRestrictions_QUERYSTRING",
  "SizeRestrictions_Cookie_HEADER",
  "SizeRestrictions_BODY",
  "SizeRestrictions_URIPATH",
  "EC2MetaDataSSRF_BODY",
  "EC2MetaDataSSRF_COOKIE",
  "EC2MetaDataSSRF_URIPATH",
  "EC2MetaDataSSRF_QUERYARGUMENTS",
  "GenericLFI_QUERYARGUMENTS",
  "GenericLFI_URIPATH",
  "GenericLFI_BODY",
  "RestrictedExtensions_URIPATH",
  "RestrictedExtensions_QUERYARGUMENTS",
  "GenericRFI_QUERYARGUMENTS",
  "GenericRFI_BODY",
  "GenericRFI_URIPATH",
  "CrossSiteScripting_COOKIE",
  "CrossSiteScripting_QUERYARGUMENTS",
  "CrossSiteScripting_BODY",
  "CrossSiteScripting_URIPATH",
];

for (const stage of STAGES) {
  const { api } = makeCell(stage);
  const all = resourcesOf(api);
  const of = (type: string) => all.filter(([, { Type }]) => Type === type);

  describe(`routes of ${stage}`, () => {
    for (const way of ["ByKey", "BySignature"])
      it(`${way}: are those of the table, each before its handler`, () => {
        const methods = of("AWS::ApiGateway::Method").filter(([id]) => id.startsWith(way));
        const found = methods.map(([, { Properties }]) => {
          const uri = JSON.stringify((Properties.Integration as Properties).Uri);
          const handler = uri.includes("TasksApi") ? "tasks-api" : "jobs-api";
          return `${Properties.HttpMethod} ${pathOf(all, Properties.ResourceId)} ${handler}`;
        });
        const wanted = ROUTES.map(({ method, path, handler }) => `${method} ${path} ${handler}`);
        assert.deepEqual(found.sort(), wanted.sort());
      });

    it("ask for a key but where the table says that none is needed, and for a signature always", () => {
      for (const [id, { Properties }] of of("AWS::ApiGateway::Method")) {
        const path = pathOf(all, Properties.ResourceId);
        const route = ROUTES.find(
          (each) => each.path === path && each.method === Properties.HttpMethod,
        );
        const byKey = route?.scope === null ? "NONE" : "CUSTOM";
        assert.equal(Properties.AuthorizationType, id.startsWith("ByKey") ? byKey : "AWS_IAM", id);
        assert.equal((Properties.Integration as Properties).Type, "AWS_PROXY", id);
      }
    });

    it("remember a key for a minute at most, and find it in one header", () => {
      const [authorizer, ...more] = of("AWS::ApiGateway::Authorizer");
      assert.ok(authorizer && more.length === 0);
      const { Properties } = authorizer[1];
      assert.equal(Properties.Type, "REQUEST");
      assert.equal(Properties.IdentitySource, "method.request.header.x-api-key");
      assert.ok((Properties.AuthorizerResultTtlInSeconds as number) <= 60);
    });
  });

  describe(`what others in the account rely on, in ${stage}`, () => {
    it("stays when the stack goes: the setting for API Gateway's logs, and its role", () => {
      const [account, ...more] = of("AWS::ApiGateway::Account");
      assert.ok(account && more.length === 0);
      const [roleId = ""] = (account[1].Properties.CloudWatchRoleArn as { "Fn::GetAtt": string[] })[
        "Fn::GetAtt"
      ];
      for (const id of [account[0], roleId])
        assert.equal(all.find(([each]) => each === id)?.[1].DeletionPolicy, "Retain", id);
    });
  });

  describe(`refusals of API Gateway in ${stage}`, () => {
    const responses = of("AWS::ApiGateway::GatewayResponse").map(([id, { Properties }]) => ({
      id,
      ...(Properties as {
        ResponseType: string;
        StatusCode?: string;
        ResponseParameters: Record<string, string>;
        ResponseTemplates: Record<string, string>;
      }),
    }));

    it("are problem documents, with the request's id", () => {
      assert.ok(responses.length > 30);
      for (const { id, ...response } of responses) {
        const template = response.ResponseTemplates["application/json"] ?? "";
        const text = template.replace("$context.error.messageString", '"a message"');
        const document = JSON.parse(text) as Properties;
        assert.equal(document.type, "about:blank", id);
        if (response.StatusCode !== undefined)
          assert.equal(document.status, Number(response.StatusCode), id);
        const headers = response.ResponseParameters;
        assert.equal(headers["gatewayresponse.header.Content-Type"], "'application/problem+json'");
        assert.equal(headers["gatewayresponse.header.x-request-id"], "context.requestId");
      }
    });

    it("say 401 for no or a wrong key, 404 for no route, 503 for a database that is away", () => {
      const status = (way: string, type: string) =>
        responses.find(({ id, ResponseType }) => id.startsWith(way) && ResponseType === type)
          ?.StatusCode;
      assert.equal(status("ByKey", "UNAUTHORIZED"), "401");
      assert.equal(status("ByKey", "MISSING_AUTHENTICATION_TOKEN"), "404");
      // What API Gateway calls an authorizer that throws: documented as the first, met as the second.
      for (const type of ["AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR"]) {
        assert.equal(status("ByKey", type), "503");
        const response = responses.find(
          ({ id, ResponseType }) => id.startsWith("ByKey") && ResponseType === type,
        );
        assert.equal(response?.ResponseParameters["gatewayresponse.header.Retry-After"], "'2'");
      }
      assert.equal(status("ByKey", "THROTTLED"), "429");
      assert.equal(status("BySignature", "MISSING_AUTHENTICATION_TOKEN"), "403");
    });
  });

  describe(`stages of ${stage}`, () => {
    it("throttle, and log without anything that may hold a secret", () => {
      const stages = of("AWS::ApiGateway::Stage");
      assert.equal(stages.length, 2);
      for (const [id, { Properties }] of stages) {
        const { Format } = Properties.AccessLogSetting as { Format: string };
        assert.doesNotMatch(
          Format,
          /header|query|body|apiKey|\$context\.path|accessKey|authorizer\.claims/i,
          id,
        );
        const [settings] = Properties.MethodSettings as Properties[];
        assert.ok((settings?.ThrottlingRateLimit as number) > 0, id);
        assert.ok((settings?.ThrottlingBurstLimit as number) > 0, id);
        assert.notEqual(settings?.DataTraceEnabled, true, id);
      }
    });

    it("have a firewall where there is something to protect", () => {
      const expected = stage === "prod" ? 2 : 0;
      assert.equal(of("AWS::WAFv2::WebACLAssociation").length, expected);
    });

    it("whose firewall counts each key, and of each address all requests: whoever makes keys up is not let through by that", () => {
      for (const [, { Properties }] of of("AWS::WAFv2::WebACL")) {
        const limits = (Properties.Rules as { Name: string; Statement: Properties }[]).flatMap(
          ({ Name, Statement: { RateBasedStatement } }) =>
            RateBasedStatement === undefined ? [] : [[Name, RateBasedStatement as Properties]],
        );
        const { key, address } = Object.fromEntries(limits) as Record<string, Properties>;
        assert.equal(limits.length, 2);
        assert.deepEqual([key?.AggregateKeyType, address?.AggregateKeyType], ["CUSTOM_KEYS", "IP"]);
        assert.equal(address?.ScopeDownStatement, undefined);
        // Callers with keys of their own share an address where there is a NAT before them.
        assert.ok(Number(address?.Limit) >= 5 * Number(key?.Limit));
      }
    });

    it("whose firewall refuses nothing for what a tenant writes: names, tags, URLs and bodies", () => {
      for (const [, { Properties }] of of("AWS::WAFv2::WebACL")) {
        const [common] = Properties.Rules as {
          Statement: { ManagedRuleGroupStatement: { RuleActionOverrides: Properties[] } };
        }[];
        const counted = common?.Statement.ManagedRuleGroupStatement.RuleActionOverrides.map(
          ({ Name, ActionToUse }) => {
            assert.deepEqual(ActionToUse, { Count: {} });
            return Name;
          },
        );
        const refusing = COMMON_RULES.filter((name) => !counted?.includes(name));
        assert.deepEqual(refusing, [
          "UserAgent_BadBots_HEADER",
          "SizeRestrictions_QUERYSTRING",
          "SizeRestrictions_Cookie_HEADER",
          "EC2MetaDataSSRF_COOKIE",
          "CrossSiteScripting_COOKIE",
        ]);
        assert.equal(counted?.length, COMMON_RULES.length - refusing.length, "each exists");
      }
    });
  });
}

describe("options", () => {
  const options = {
    ratePerSecond: 100,
    burst: 200,
    firewallRequestsPerKey: 10_000,
    domain: {
      name: "api.example.com",
      iamName: "signed.example.com",
      certificateArn: "arn:aws:acm:eu-west-1:123456789012:certificate/one",
    },
    callerAccounts: ["210987654321"],
  };
  const cell = makeCell("dev", { api: options });

  it("a domain: a name for each way in, TLS 1.2, told where to point, and not to be called by tasks", () => {
    const names = resourcesOf(cell.api, "AWS::ApiGateway::DomainName");
    assert.deepEqual(
      names.map(([, { Properties }]) => Properties.DomainName),
      ["api.example.com", "signed.example.com"],
    );
    for (const [, { Properties }] of names) assert.equal(Properties.SecurityPolicy, "TLS_1_2");
    assert.deepEqual(cell.api.hosts.slice(2), ["api.example.com", "signed.example.com"]);
  });

  it("other accounts: may sign, and nobody else outside of ours", () => {
    const policies = resourcesOf(cell.api, "AWS::ApiGateway::RestApi").map(
      ([, { Properties }]) => Properties.Policy,
    );
    assert.equal(policies.filter(Boolean).length, 1);
    const text = JSON.stringify(policies.find(Boolean));
    assert.match(text, /210987654321/);
    assert.doesNotMatch(text, /"AWS":"\*"|"Principal":"\*"/);
  });
});

/** The path of a method's resource, `/v1/tasks/{taskId}`. */
function pathOf(all: readonly NamedResource[], resourceId: unknown): string {
  const id = (resourceId as { Ref?: string }).Ref;
  if (id === undefined) return "";
  const found = all.find(([each]) => each === id);
  assert.ok(found, `resource ${id}`);
  const { ParentId, PathPart } = found[1].Properties;
  return `${pathOf(all, ParentId)}/${PathPart}`;
}
