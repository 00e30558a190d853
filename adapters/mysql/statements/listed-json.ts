/** What lists read of a request or payload. */
import { CARRIED_BYTES_MAX } from "#core/domain/limits.ts";

/**
 * The JSON in `column`; where it is large and has a body, `bodyBytes` in place of that: a page of bodies would fill a process's memory,
 * and outlast the statement's deadline, only to be counted.
 */
export function listedJson(column: string): string {
  const field = (name: string) => `JSON_EXTRACT(${column}, '$.${name}')`;
  const isText = (name: string) => `JSON_TYPE(${field(name)}) = 'STRING'`;
  const without = (bytes: string) =>
    `JSON_SET(${column}, '$.body', NULL, '$.bodyBase64', NULL, '$.bodyBytes', LENGTH(${bytes}))`;
  const base64 = `FROM_BASE64(JSON_UNQUOTE(${field("bodyBase64")}))`;
  const text = `JSON_UNQUOTE(${field("body")})`;
  return `CASE WHEN JSON_STORAGE_SIZE(${column}) <= ${CARRIED_BYTES_MAX} THEN ${column} WHEN ${isText("bodyBase64")} THEN ${without(base64)} WHEN ${isText("body")} THEN ${without(text)} ELSE ${column} END`;
}
