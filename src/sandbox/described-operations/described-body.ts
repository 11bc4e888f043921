// Checks the body of a request to a described operation: its media type, and, of JSON, forms and plain
// text, also the value against its schema.

import { ApiError } from "../../base/errors.ts";
import { parseExactJson } from "../../json/exact-json.ts";
import type { Json } from "../../json/json-values.ts";
import { decodeUtf8 } from "../../json/utf8.ts";
import { checkOf } from "../../openapi/description/checks.ts";
import { matchesMedia } from "../../openapi/description/described-operation.ts";
import { expandSchema } from "../../openapi/description/expanded-schema.ts";
import { type Place, readableAsync } from "../../openapi/document/place.ts";
import { faultIn } from "./made-values.ts";
import { objectOfPairs, type Pair } from "./sent-values.ts";

/** Returns the error of a body. */
export type BodyCheck = (headers: Headers, bytes: Uint8Array) => Promise<ApiError | undefined>;

/** Reads the described body of an operation; undefined if there is none, so that no body is read. */
export async function readBodyCheck(operation: Place): Promise<BodyCheck | undefined> {
  const body = operation.at("requestBody");
  const media = await Promise.all(
    body.at("content").members.map(async ([range, each]) => {
      const schema = each.at("schema");
      if (schema.value === undefined) return { range, checked: undefined };
      // Undefined for a schema that cannot be checked.
      const checked = await readableAsync(async () => {
        return { schema: expandSchema(schema), check: await checkOf(schema) };
      });
      return { range, checked };
    }),
  );
  if (media.length === 0) return undefined;
  return async (headers, bytes) => {
    const sent = headers.get("content-type");
    if (bytes.length === 0 && sent === null)
      return body.at("required").value === true
        ? new ApiError("invalidPlant", "The body is missing.")
        : undefined;
    const found = media.find(({ range }) => sent !== null && matchesMedia(sent, range));
    const encoding = headers.get("content-encoding") ?? "identity";
    if (found === undefined || encoding.toLowerCase() !== "identity") {
      const wanted = media.map(({ range }) => range).join(" or ");
      const given = `Content-Type is ${sent ?? "missing"}, and the Content-Encoding ${encoding}`;
      return new ApiError("unsupportedMediaType", `The ${given}; send ${wanted}, as it is.`);
    }
    const { checked } = found;
    if (checked === undefined) return undefined;
    const value = await parseBody(sent ?? "", bytes, checked.schema);
    if (value instanceof ApiError || value === undefined) return value;
    const fault = faultIn(checked.check, value.parsed);
    return fault === undefined ? undefined : new ApiError("invalidPlant", `The body is not valid: ${fault}.`);
  };
}

/** The value of a body; undefined for one of another media type, which is not checked. */
async function parseBody(
  type: string,
  bytes: Uint8Array,
  schema: Json,
): Promise<{ readonly parsed: unknown } | ApiError | undefined> {
  if (matchesMedia(type, "multipart/form-data")) return await parseMultipart(type, bytes, schema);
  const isForm = matchesMedia(type, "application/x-www-form-urlencoded");
  const isJson = /^[^;]*[/+]json\s*(?:;|$)/i.test(type);
  if (!isForm && !isJson && !matchesMedia(type, "text/*")) return undefined;
  const text = decodeUtf8(bytes);
  if (text === undefined) return new ApiError("invalidJson", "The body is not UTF-8.");
  if (isForm) return { parsed: objectOfPairs([...new URLSearchParams(text)], schema) };
  if (!isJson) return { parsed: text };
  try {
    return { parsed: parseExactJson(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    return new ApiError("invalidJson", `The body is not JSON: ${error.message}.`);
  }
}

/** Files count as texts: their bytes are not checked. */
async function parseMultipart(
  type: string,
  bytes: Uint8Array,
  schema: Json,
): Promise<{ readonly parsed: unknown } | ApiError> {
  try {
    const response = new Response(bytes as Uint8Array<ArrayBuffer>, { headers: { "Content-Type": type } });
    const pairs: Pair[] = [];
    for (const [name, value] of await response.formData())
      pairs.push([name, typeof value === "string" ? value : await value.text()]);
    return { parsed: objectOfPairs(pairs, schema) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return new ApiError("invalidPlant", "The body is not multipart/form-data with its boundary.");
  }
}
