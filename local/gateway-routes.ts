/** Finds the route of a method and a path, as API Gateway does. */

export interface RoutePattern {
  readonly method: string;
  readonly path: string;
}

export type RouteMatch<R extends RoutePattern> =
  | { readonly kind: "found"; readonly route: R; readonly pathParameters: Record<string, string> }
  | { readonly kind: "no-such-path" }
  | { readonly kind: "method-not-allowed"; readonly allow: readonly string[] }
  /** A percent sign that begins no UTF-8 character. */
  | { readonly kind: "malformed" };

/** `path` is the raw path of the request, without the query. Parameters stay as they were sent, encoded: handlers decode them. */
export function matchRoute<R extends RoutePattern>(
  routes: readonly R[],
  method: string,
  path: string,
): RouteMatch<R> {
  if (!canDecode(path)) return { kind: "malformed" };
  const segments = path.split("/");
  const fitting = routes.flatMap((route) => {
    const pathParameters = matchPath(route.path, segments);
    return pathParameters === null ? [] : [{ route, pathParameters }];
  });
  const resource = mostLiteral(fitting.map(({ route }) => route.path));
  if (resource === null) return { kind: "no-such-path" };
  const onPath = fitting.filter(({ route }) => route.path === resource);
  const found = onPath.find(({ route }) => route.method === method);
  if (found !== undefined) return { kind: "found", ...found };
  return { kind: "method-not-allowed", allow: onPath.map(({ route }) => route.method) };
}

/** Of paths that fit a request the one that is written out where the others have a parameter: their first difference decides. */
function mostLiteral(paths: readonly string[]): string | null {
  // "{" sorts after every letter, digit and sign of a path.
  return paths.toSorted((a, b) => (a < b ? -1 : 1))[0] ?? null;
}

function canDecode(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function matchPath(pattern: string, segments: readonly string[]): Record<string, string> | null {
  const parts = pattern.split("/");
  if (parts.length !== segments.length) return null;
  const parameters: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const segment = segments[at] ?? "";
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined ? part !== segment : segment === "") return null;
    if (name !== undefined) parameters[name] = segment;
  }
  return parameters;
}
