// Reads the body of a request to a described operation: checks its media type, and, of JSON, forms and
// plain text, also the value against its schema.

import { ApiError } from "../base/errors.ts";
import { faultIn } from "../contract/schema-check.ts";
import { parseExactJson, toExactJson } from "../json/exact-json.ts";
import { filterJson } from "../json/json-filter.ts";
import { isDeeper, isObject, type Json } from "../json/json-values.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import { checkOf } from "../openapi/description/checks.ts";
import { isJsonFormat, matchesMedia } from "../openapi/description/described-operation.ts";
import { expandSchema } from "../openapi/description/expanded-schema.ts";
import { type Place, readable, readableAsync } from "../openapi/document/place.ts";
import { filterOf } from "../openapi/schema/directions.ts";
import { propertiesOf } from "../openapi/schema/restrictions.ts";
import { nestingMax } from "../openapi/schema/values.ts";
import { objectOfPairs, type Pair } from "./sent-values.ts";

/**
 * Returns the value of a body, or its error: undefined if there is none, and the bytes of what is not
 * checked. A member that has a default and was not sent is added.
 *
 * @param readBytes called if the body may have the media type.
 */
export type DescribedBody = (
  headers: Headers,
  readBytes: () => Promise<Uint8Array | ApiError>,
) => Promise<{ readonly value: unknown } | ApiError>;

/** Reads the described body of an operation; undefined if there is none, so that no body is read. */
export async function readDescribedBody(operation: Place): Promise<DescribedBody | undefined> {
  const body = operation.at("requestBody");
  const media = await Promise.all(
    body.at("content").members.map(async ([range, each]) => {
      const schema = each.at("schema");
      if (schema.value === undefined) return { range, checked: undefined };
      // Undefined for a schema that cannot be checked.
      const checked = await readableAsync(async () => {
        const taken = filterOf([schema], "request");
        return { schema: readable(() => expandSchema(schema)) ?? {}, check: await checkOf(schema), taken };
      });
      return { range, checked };
    }),
  );
  if (media.length === 0) return undefined;
  return async (headers, readBytes) => {
    const sent = headers.get("content-type");
    // Clients name the type of their bodies also where they have none.
    const mayBeMissing = sent === null || isJsonFormat(sent);
    const found = media.find(({ range }) => sent !== null && matchesMedia(sent, range));
    const encoding = headers.get("content-encoding") ?? "identity";
    const isUnfit = found === undefined || encoding.toLowerCase() !== "identity";
    const bytes = isUnfit && !mayBeMissing ? undefined : await readBytes();
    if (bytes instanceof ApiError) return bytes;
    if (bytes?.length === 0 && mayBeMissing)
      return body.at("required").value === true
        ? new ApiError("invalidPlant", "The body is missing.")
        : { value: undefined };
    if (isUnfit || bytes === undefined) {
      const wanted = media.map(({ range }) => range).join(" or ");
      const given = `Content-Type is ${sent ?? "missing"}, and the Content-Encoding ${encoding}`;
      return new ApiError("unsupportedMediaType", `The ${given}; send ${wanted}, as it is.`);
    }
    const { checked } = found;
    const parsed = checked && (await parseBody(sent ?? "", bytes, checked.schema));
    if (checked === undefined || parsed === undefined) return { value: bytes };
    if (parsed instanceof ApiError) return parsed;
    const fault = faultIn(checked.check, parsed.value);
    if (fault !== undefined) return new ApiError("invalidPlant", `The body is not valid: ${fault}.`);
    const { schema, taken } = checked;
    // Members that clients cannot set are dropped.
    const value = taken ? parseExactJson(filterJson(toExactJson(parsed.value), taken)) : parsed.value;
    return { value: withDefaults(value, schema) };
  };
}

/** A value with the defaults of members that were not sent, where the schema names them. */
function withDefaults(value: unknown, schema: Json): unknown {
  const { items } = schema;
  if (Array.isArray(value)) return isObject(items) ? value.map((item) => withDefaults(item, items)) : value;
  if (!isObject(value)) return value;
  const members = { ...value };
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    if (!isObject(property)) continue;
    if (Object.hasOwn(members, name)) members[name] = withDefaults(members[name], property);
    else if (property.default !== undefined) members[name] = property.default;
  }
  return members;
}

/** The value of a body; undefined for one of another media type, which is not checked. */
async function parseBody(
  type: string,
  bytes: Uint8Array,
  schema: Json,
): Promise<{ readonly value: unknown } | ApiError | undefined> {
  if (matchesMedia(type, "multipart/form-data")) return await parseMultipart(type, bytes, schema);
  const isForm = matchesMedia(type, "application/x-www-form-urlencoded");
  if (!isForm && !isJsonFormat(type) && !matchesMedia(type, "text/*")) return undefined;
  const text = decodeUtf8(bytes);
  if (text === undefined) return new ApiError("invalidJson", "The body is not UTF-8.");
  if (isForm) return { value: objectOfPairs([...new URLSearchParams(text)], schema) };
  if (!isJsonFormat(type)) return { value: text };
  try {
    const value = parseExactJson(text);
    if (!isDeeper(value, nestingMax)) return { value };
    const most = `${nestingMax} arrays and objects within each other`;
    return new ApiError("invalidJson", `The body has more than ${most}.`);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    return new ApiError("invalidJson", `The body is not JSON: ${error.message}.`);
  }
}

/** A body whose parts have their names in quotes, which may be left out (RFC 2183), and which Bun expects. */
function withQuotedNames(type: string, bytes: Uint8Array): Uint8Array {
  const [, quoted, plain = quoted] = /;\s*boundary=(?:"([^"]*)"|([^\s;]*))/i.exec(type) ?? [];
  if (plain === undefined || plain === "") return bytes;
  const boundary = plain.replaceAll(/[^\w]/g, "\\$&");
  const heads = new RegExp(`(?<=^|\r\n)--${boundary}\r\n(?:[^\r\n]+\r\n)+`, "g");
  const text = Buffer.from(bytes).toString("latin1");
  const changed = text.replaceAll(heads, (head) =>
    head.replaceAll(/(;\s*(?:file)?name=)([^"\s;]+)/gi, '$1"$2"'),
  );
  return changed === text ? bytes : Buffer.from(changed, "latin1");
}

/** Files count as texts: their bytes are not checked. */
async function parseMultipart(
  type: string,
  bytes: Uint8Array,
  schema: Json,
): Promise<{ readonly value: unknown } | ApiError> {
  try {
    const quoted = withQuotedNames(type, bytes);
    const response = new Response(quoted as Uint8Array<ArrayBuffer>, { headers: { "Content-Type": type } });
    const pairs: Pair[] = [];
    for (const [name, value] of await response.formData())
      pairs.push([name, typeof value === "string" ? value : await value.text()]);
    return { value: objectOfPairs(pairs, schema) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return new ApiError("invalidPlant", "The body is not multipart/form-data with its boundary.");
  }
}
