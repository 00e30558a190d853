/** What lists read of a request or payload. */
import { CARRIED_BYTES_MAX } from "#core/domain/limits.ts";

/**
 * The JSON in `column`; where it is large, `bodyBytes` in place of its body: a page of bodies would fill a process's memory, and
 * outlast the statement's deadline, only to be counted.
 */
export function listedJson(column: string): string {
  const base64 = `JSON_EXTRACT(${column}, '$.bodyBase64')`;
  const bytes = `IF(JSON_TYPE(${base64}) = 'STRING', LENGTH(FROM_BASE64(JSON_UNQUOTE(${base64}))), LENGTH(JSON_UNQUOTE(JSON_EXTRACT(${column}, '$.body'))))`;
  return `IF(JSON_STORAGE_SIZE(${column}) > ${CARRIED_BYTES_MAX}, JSON_SET(${column}, '$.body', NULL, '$.bodyBase64', NULL, '$.bodyBytes', ${bytes}), ${column})`;
}
