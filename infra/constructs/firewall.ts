/** A web ACL before both ways in: the usual attacks, and a limit for each key. */

import type { RestApi } from "aws-cdk-lib/aws-apigateway";
import { CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";

/**
 * Rules of AWS's own that would refuse what the API takes: counted, not stopped. Bodies are up to 6 MB and hold URLs and other bodies; a name
 * in the path is any text (`rotate.log`, 200 characters of nine bytes), a tag in the query too, and an endpoint there is a URL; programs need
 * not say who they are. What is left looks at other headers, and at the length of the query, which the API's own bounds keep far below.
 */
const NOT_OURS = [
  "NoUserAgent_HEADER",
  "SizeRestrictions_BODY",
  "SizeRestrictions_URIPATH",
  ...["EC2MetaDataSSRF", "GenericLFI", "GenericRFI", "CrossSiteScripting"].flatMap((attack) =>
    ["BODY", "URIPATH", "QUERYARGUMENTS"].map((place) => `${attack}_${place}`),
  ),
  "RestrictedExtensions_URIPATH",
  "RestrictedExtensions_QUERYARGUMENTS",
];
const TOO_MANY = "TooMany";
/** Callers with a key each share an address where they share a NAT. */
const KEYS_OF_AN_ADDRESS = 5;

export class Firewall extends Construct {
  /**
   * `requestsPerKey`: of one key in five minutes. An address may make as many as five keys, with whatever key or none: keys cost nothing
   * to make up, and a flood with a new one each time would be counted nowhere else.
   */
  constructor(scope: Construct, id: string, apis: readonly RestApi[], requestsPerKey: number) {
    super(scope, id);
    const visibility = (metricName: string) => ({
      cloudWatchMetricsEnabled: true,
      // Sampled requests are kept for hours, with their headers.
      sampledRequestsEnabled: false,
      metricName,
    });
    const acl = new CfnWebACL(this, "Acl", {
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      visibilityConfig: visibility("Api"),
      customResponseBodies: {
        [TOO_MANY]: {
          contentType: "APPLICATION_JSON",
          content:
            '{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"more requests than may be made: try again"}',
        },
      },
      rules: [
        {
          name: "common",
          priority: 0,
          overrideAction: { none: {} },
          statement: {
            managedRuleGroupStatement: {
              vendorName: "AWS",
              name: "AWSManagedRulesCommonRuleSet",
              ruleActionOverrides: NOT_OURS.map((name) => ({ name, actionToUse: { count: {} } })),
            },
          },
          visibilityConfig: visibility("Common"),
        },
        limit("key", 1, requestsPerKey, visibility("Key"), "x-api-key"),
        limit("address", 2, KEYS_OF_AN_ADDRESS * requestsPerKey, visibility("Address"), null),
      ],
    });
    for (const api of apis)
      new CfnWebACLAssociation(api, "Firewall", {
        resourceArn: api.deploymentStage.stageArn,
        webAclArn: acl.attrArn,
      });
  }
}

function limit(
  name: string,
  priority: number,
  requests: number,
  visibilityConfig: CfnWebACL.VisibilityConfigProperty,
  header: string | null,
): CfnWebACL.RuleProperty {
  const byHeader = {
    aggregateKeyType: "CUSTOM_KEYS",
    customKeys: [
      { header: { name: header ?? "", textTransformations: [{ priority: 0, type: "NONE" }] } },
    ],
  };
  return {
    name,
    priority,
    action: {
      block: {
        customResponse: {
          responseCode: 429,
          customResponseBodyKey: TOO_MANY,
          responseHeaders: [{ name: "Retry-After", value: "30" }],
        },
      },
    },
    statement: {
      rateBasedStatement: {
        limit: requests,
        evaluationWindowSec: 300,
        ...(header === null ? { aggregateKeyType: "IP" } : byHeader),
      },
    },
    visibilityConfig,
  };
}
