/**
 * One way into the API: a REST API with every route of the table, before the same functions. There are two, because a method of API
 * Gateway has one kind of authorization, and because both then have the paths that OpenAPI, handlers and clients know.
 */
import { CfnOutput, RemovalPolicy } from "aws-cdk-lib";
import {
  AccessLogFormat,
  AuthorizationType,
  type CfnAccount,
  EndpointType,
  type IAuthorizer,
  LambdaIntegration,
  LogGroupLogDestination,
  type MethodOptions,
  RestApi,
} from "aws-cdk-lib/aws-apigateway";
import type { PolicyDocument } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { ROUTES, type Route } from "#functions/_shared/routes.ts";
import type { ApiConfig } from "../config.ts";
import { acknowledge } from "./acknowledge.ts";
import { addProblemResponses } from "./problem-responses.ts";

export interface RestEntryProps {
  readonly name: string;
  readonly description: string;
  readonly handlers: Readonly<Record<Route["handler"], IFunction>>;
  /** `keys`: by an authorizer, but for routes that need no key. `iam`: every request is signed. */
  readonly callers:
    | { readonly kind: "keys"; readonly authorizer: IAuthorizer }
    | { readonly kind: "iam" };
  readonly policy: PolicyDocument | undefined;
  readonly limits: Pick<ApiConfig, "ratePerSecond" | "burst">;
  readonly logRetention: RetentionDays;
  readonly tracing: boolean;
  /** What lets API Gateway write logs in this account and region. */
  readonly account: CfnAccount;
}

const STAGE = "live";

/** No header, no query string, no body: what may hold a secret is not there. */
const LOG_LINE = {
  requestId: "$context.requestId",
  time: "$context.requestTimeEpoch",
  method: "$context.httpMethod",
  route: "$context.resourcePath",
  status: "$context.status",
  responseBytes: "$context.responseLength",
  latencyMs: "$context.responseLatency",
  integrationMs: "$context.integrationLatency",
  sourceIp: "$context.identity.sourceIp",
  caller: "$context.identity.userArn",
  tenant: "$context.authorizer.principalId",
  refusal: "$context.error.responseType",
};

export class RestEntry extends Construct {
  readonly api: RestApi;

  constructor(scope: Construct, id: string, props: RestEntryProps) {
    super(scope, id);
    const logGroup = new LogGroup(this, "AccessLog", {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.api = new RestApi(this, "Api", {
      restApiName: props.name,
      description: props.description,
      endpointTypes: [EndpointType.REGIONAL],
      cloudWatchRole: false,
      ...(props.policy && { policy: props.policy }),
      deployOptions: {
        stageName: STAGE,
        throttlingRateLimit: props.limits.ratePerSecond,
        throttlingBurstLimit: props.limits.burst,
        tracingEnabled: props.tracing,
        accessLogDestination: new LogGroupLogDestination(logGroup),
        accessLogFormat: AccessLogFormat.custom(JSON.stringify(LOG_LINE)),
      },
    });
    this.api.deploymentStage.node.addDependency(props.account);
    this.#addRoutes(props);
    addProblemResponses(this.api, props.callers.kind);
    new CfnOutput(this, "Url", { value: this.api.url, description: props.description });
    this.#acknowledge(props.callers.kind);
  }

  #addRoutes({ handlers, callers }: RestEntryProps): void {
    const integrations = Object.fromEntries(
      Object.entries(handlers).map(([name, handler]) => [
        name,
        // One permission for the API: one for each method would not fit into a function's policy.
        new LambdaIntegration(handler, { scopePermissionToMethod: false }),
      ]),
    );
    const signed: MethodOptions = { authorizationType: AuthorizationType.IAM };
    const open: MethodOptions = { authorizationType: AuthorizationType.NONE };
    for (const { method, path, handler, scope } of ROUTES as readonly Route[]) {
      const options =
        callers.kind === "iam"
          ? signed
          : scope === null
            ? open
            : { authorizer: callers.authorizer };
      this.api.root.resourceForPath(path).addMethod(method, integrations[handler], options);
    }
  }

  #acknowledge(callers: "keys" | "iam"): void {
    if (callers === "keys")
      acknowledge(this.api, {
        "AwsSolutions-APIG4":
          "Health, the OpenAPI document and the reference page tell nothing about anybody and need no key; every other route has an authorizer",
      });
    acknowledge(this.api, {
      "AwsSolutions-APIG2":
        "Handlers validate with the schemas that OpenAPI is written from, and answer 422 with each field; a model here would answer with less and be a second source",
      "AwsSolutions-APIG6":
        "Execution logs hold requests' headers; access logs say what was answered and handlers log their own failures",
      "AwsSolutions-COG4": "Callers are programs: they have API keys of ours, or IAM principals",
    });
  }
}
