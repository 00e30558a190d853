/**
 * How a container is asked whether its worker has ever worked: what ECS runs in it every so often (there is no curl in the image). It
 * asks for nothing but that, so that an outage restarts nobody.
 */

/** `port` is the worker's METRICS_PORT. */
export function readyCommand(port: number): string[] {
  const ask = `require("node:http").get("http://127.0.0.1:${port}/ready",(answer)=>process.exit(answer.statusCode===200?0:1)).on("error",()=>process.exit(1))`;
  return ["CMD", "node", "--eval", ask];
}
