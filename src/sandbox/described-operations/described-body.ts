// The body of a request to a described operation: its media type, and what its schema accepts. JSON,
// forms and plain text are checked; of any other body only the media type is.

import { MIMEType } from "node:util";
import { checkOf } from "../../core/contract/description/checks.ts";
import { expandSchema } from "../../core/contract/description/expanded-schema.ts";
import { ContractError, type Place } from "../../core/contract/description/place.ts";
import { ApiError } from "../../core/contract/errors.ts";
import { parseExactJson } from "../../core/contract/json/exact-json.ts";
import type { Json } from "../../core/contract/json/json-values.ts";
import { decodeUtf8 } from "../../core/contract/json/utf8.ts";
import type { SchemaCheck } from "../../core/contract/schema/schema-check.ts";
import { faultIn } from "./made-values.ts";
import { matchesMedia } from "./media-types.ts";
import { objectOfPairs, type Pair } from "./sent-values.ts";

interface Media {
  /** Such as "application/json", or a range such as "image/*". */
  readonly type: string;
  /** Undefined where the schema is missing, or cannot be checked. */
  readonly checked: { readonly schema: Json; readonly check: SchemaCheck } | undefined;
}

export class DescribedBody {
  readonly #isRequired: boolean;
  readonly #media: readonly Media[];

  private constructor(isRequired: boolean, media: readonly Media[]) {
    this.#isRequired = isRequired;
    this.#media = media;
  }

  static async read(operation: Place): Promise<DescribedBody> {
    const body = operation.at("requestBody");
    const media: Media[] = [];
    for (const [type, each] of body.at("content").members)
      media.push({ type, checked: await readSchema(each.at("schema")) });
    return new DescribedBody(body.at("required").value === true, media);
  }

  /** Whether a body is described; any other one is not read. */
  get isDescribed(): boolean {
    return this.#media.length > 0;
  }

  /** The error of a body. */
  async fault(headers: Headers, bytes: Uint8Array): Promise<ApiError | undefined> {
    const sent = headers.get("content-type");
    if (bytes.length === 0 && sent === null)
      return this.#isRequired ? new ApiError("invalidPlant", "The body is missing.") : undefined;
    const type = sent === null ? undefined : parseMediaType(sent);
    const encoding = headers.get("content-encoding") ?? "identity";
    const media = this.#media.find((each) => type !== undefined && matchesMedia(type.essence, each.type));
    if (type === undefined || media === undefined || encoding.toLowerCase() !== "identity") {
      const wanted = this.#media.map((each) => each.type).join(" or ");
      const given = `Content-Type is ${sent ?? "missing"}, and the Content-Encoding ${encoding}`;
      return new ApiError("unsupportedMediaType", `The ${given}; send ${wanted}, as it is.`);
    }
    if (media.checked === undefined) return undefined;
    const value = await parseBody(type, bytes, media.checked.schema);
    if (value instanceof ApiError || value === undefined) return value;
    const fault = faultIn(media.checked.check, value.parsed);
    return fault === undefined ? undefined : new ApiError("invalidPlant", `The body is not valid: ${fault}.`);
  }
}

async function readSchema(schema: Place): Promise<Media["checked"]> {
  if (schema.value === undefined) return undefined;
  try {
    return { schema: expandSchema(schema), check: await checkOf(schema) };
  } catch (error) {
    if (error instanceof ContractError) return undefined;
    throw error;
  }
}

function parseMediaType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text);
  } catch {
    // MIMEType throws for a malformed media type, and for nothing else.
    return undefined;
  }
}

/** The value of a body; undefined for one of another media type, which is not checked. */
async function parseBody(
  { essence, params }: MIMEType,
  bytes: Uint8Array,
  schema: Json,
): Promise<{ readonly parsed: unknown } | ApiError | undefined> {
  if (essence === "multipart/form-data")
    return await parseMultipart(String(params.get("boundary")), bytes, schema);
  const isForm = essence === "application/x-www-form-urlencoded";
  const isJson = /[/+]json$/.test(essence);
  if (!isForm && !isJson && !essence.startsWith("text/")) return undefined;
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
  boundary: string,
  bytes: Uint8Array,
  schema: Json,
): Promise<{ readonly parsed: unknown } | ApiError> {
  try {
    const headers = { "Content-Type": `multipart/form-data; boundary=${boundary}` };
    const form = await new Response(bytes as Uint8Array<ArrayBuffer>, { headers }).formData();
    const pairs: Pair[] = [];
    for (const [name, value] of form)
      pairs.push([name, typeof value === "string" ? value : await value.text()]);
    return { parsed: objectOfPairs(pairs, schema) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return new ApiError("invalidPlant", "The body is not multipart/form-data with its boundary.");
  }
}
