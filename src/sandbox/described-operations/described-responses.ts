// Chooses the response of a described operation, and writes its body and header fields, which are
// examples of the description, or made from its schemas.

import { parseAccept } from "hono/utils/accept";
import { anyValue, faultIn, type SchemaCheck } from "../../contract/schema-check.ts";
import { parseExactJson, toExactJson } from "../../json/exact-json.ts";
import { filterJson, type JsonFilter } from "../../json/json-filter.ts";
import { isObject } from "../../json/json-values.ts";
import { checkOf } from "../../openapi/description/checks.ts";
import { isJsonFormat, matchesMedia, responseAt } from "../../openapi/description/described-operation.ts";
import { isHeaderName } from "../../openapi/description/security.ts";
import { type Place, readableAsync } from "../../openapi/document/place.ts";
import { filterOf } from "../../openapi/schema/directions.ts";
import { exampleIn, type ValueMaker } from "../../openapi/schema/made-values.ts";

/** Criteria by which a response is chosen, besides its status. */
export interface Wanted {
  /** The field Accept of the request. */
  readonly accept: string | null;
  /** The name of the example. */
  readonly example?: string | undefined;
  /** Whether values are made anew, without examples. */
  readonly isDynamic?: boolean;
  /** The JSON of an error, which is sent if the response is described like that. */
  readonly error?: unknown;
}

export interface FoundResponse {
  readonly status: number;
  readonly place: Place;
}

const withoutBody: readonly number[] = [204, 205, 304];

/** Fields that follow from the body, or from the connection. */
const ownFields = /^(?:content-(?:type|length|encoding)|transfer-encoding|connection|date)$/i;

export class DescribedResponses {
  readonly #operation: Place;
  readonly #maker: ValueMaker;

  constructor(operation: Place, maker: ValueMaker) {
    this.#operation = operation;
    this.#maker = maker;
  }

  /** The described response with a status, of its class, or of all others. */
  at(status: number): FoundResponse | undefined {
    const place = responseAt(this.#operation, status);
    return place && { status, place };
  }

  /** The response to a request that is as described: the first success, or what there is instead. */
  usual(): FoundResponse | undefined {
    const [first] = this.#withStatus();
    return first !== undefined && first.status < 400 ? first : (this.at(200) ?? first);
  }

  /** The responses that are described for a status or a class, in their order. */
  #withStatus(): FoundResponse[] {
    // A server that responds with 101 speaks another protocol.
    const keys = this.#operation.at("responses").members.map(([key]) => key.toUpperCase());
    const own = keys.filter((key) => /^[2-5](?:\d\d|XX)$/.test(key)).toSorted();
    return own.flatMap((key) => this.at(Number(key.replace("XX", "00"))) ?? []);
  }

  /** The response that has an example with a name, of the one that is sent otherwise, or of all. */
  withExample(name: string, first: FoundResponse | undefined): FoundResponse | undefined {
    const all = [...(first === undefined ? [] : [first]), ...this.#withStatus()];
    return all.find(({ place }) => place.at("content").members.some(hasExample(name)));
  }

  /** Writes a response; undefined if no value fits its schema. */
  async write({ status, place }: FoundResponse, wanted: Wanted): Promise<Response | undefined> {
    const { accept, example } = wanted;
    const content = withoutBody.includes(status) ? [] : place.at("content").members;
    const headers = await this.#headers(place, wanted);
    if (content.length === 0) return new Response(null, { status, headers });
    for (const [type, media] of byAccept(content, accept)) {
      // Headers throws for characters that no field may have, such as a line break.
      if (!/^[\t -~]+$/.test(type)) continue;
      if (example !== undefined && !hasExample(example)([type, media])) continue;
      const body = await this.#body(concreteMedia(type), media, wanted);
      if (body === undefined) continue;
      headers.set("Content-Type", concreteMedia(type));
      return new Response(body, { status, headers });
    }
    return undefined;
  }

  async #body(type: string, media: Place, wanted: Wanted): Promise<string | Buffer<ArrayBuffer> | undefined> {
    const isJson = isJsonFormat(type);
    const schema = media.at("schema");
    const filter = isJson ? filterOf([schema], "response") : undefined;
    const write = (value: unknown) => {
      if (isJson) return value === undefined ? undefined : filtered(toExactJson(value), filter);
      return value === undefined || typeof value === "object" ? undefined : String(value);
    };
    if (wanted.example !== undefined) return write(exampleValue(media.at("examples", wanted.example)));
    const examples = [
      ...media.at("examples").members.map(([, example]) => exampleValue(example)),
      media.at("example").value,
    ];
    const sent = await this.#check(schema);
    const check = sent && filter ? filteredCheck(sent, filter) : sent;
    // An example of a schema that cannot be read is sent as it is.
    const isFit = (value: unknown) => check === undefined || faultIn(check, value) === undefined;
    const error = isJson ? [wanted.error] : [];
    const found = [...error, ...(wanted.isDynamic ? [] : examples)].find(
      (value) => write(value) !== undefined && isFit(value),
    );
    if (found !== undefined) return write(found);
    const image = images[type.toLowerCase()];
    if (image !== undefined) return Buffer.from(image, "base64");
    if (check === undefined) return undefined;
    if (schema.value === undefined) return isJson ? "{}" : "string";
    return write(this.#maker.make(schema, check, wanted.isDynamic));
  }

  /** The header fields that are required, and those that have an example. */
  async #headers(response: Place, { isDynamic }: Wanted): Promise<Headers> {
    const headers = new Headers();
    for (const [name, header] of response.at("headers").members) {
      const schema = header.at("schema");
      const example = header.at("example").value ?? exampleIn(schema.object ?? {});
      if (ownFields.test(name) || (header.at("required").value !== true && example === undefined)) continue;
      const check = await this.#check(schema);
      const made = check && this.#maker.make(schema, check, isDynamic);
      const value = example ?? made;
      const text = isObject(value) ? Object.entries(value).flat().join(",") : String(value ?? "");
      // Headers throws for characters that no field may have (RFC 9110, section 5.5).
      if (isHeaderName(name) && /^[\t -~\x80-\xff]*$/.test(text)) headers.set(name, text);
    }
    return headers;
  }

  /** Undefined for a schema that cannot be checked. */
  async #check(schema: Place): Promise<SchemaCheck | undefined> {
    return schema.value === undefined
      ? anyValue
      : await readableAsync(() => checkOf(schema, { direction: "response" }));
  }
}

/** Images of one pixel. */
const images: Readonly<Record<string, string>> = {
  "image/gif": "R0lGODlhAQABAAAAACwAAAAAAQABAAA=",
  "image/png":
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
};

/** JSON without what responses do not have. */
function filtered(json: string, filter: JsonFilter | undefined): string {
  return filter === undefined ? json : filterJson(json, filter);
}

/** Accepts the values whose rest a check accepts. */
function filteredCheck(check: SchemaCheck, filter: JsonFilter): SchemaCheck {
  return {
    expected: check.expected,
    fault: (value, work) => check.fault(parseExactJson(filterJson(toExactJson(value), filter)), work),
  };
}

type MediaMember = readonly [type: string, media: Place];

function hasExample(name: string): (member: MediaMember) => boolean {
  return ([, media]) => media.at("examples", name).value !== undefined;
}

/** The value of an example, as OpenAPI 3.0 to 3.2 name it. */
function exampleValue(example: Place): unknown {
  const names = ["value", "dataValue", "serializedValue"];
  return names.map((name) => example.at(name).value).find((value) => value !== undefined);
}

/** The media type that is sent where a range is described. */
function concreteMedia(range: string): string {
  const subtypes: Readonly<Record<string, string>> = {
    text: "plain",
    image: "png",
    audio: "mpeg",
    video: "mp4",
  };
  const [main = ""] = range.split("/");
  if (!range.includes("*")) return range;
  return main in subtypes ? `${main}/${subtypes[main]}` : "application/json";
}

/** Described media types in the order of an Accept field: the ones that it names, and then the others. */
function byAccept(content: readonly MediaMember[], accept: string | null): MediaMember[] {
  const ranges = parseAccept(accept ?? "*/*");
  // The most specific range counts (RFC 9110, section 12.5.1).
  const specificity = ({ type }: { readonly type: string }) => 2 - (type.match(/\*/g)?.length ?? 0);
  const bySpecificity = ranges.toSorted((one, other) => specificity(other) - specificity(one));
  const weightOf = (type: string) =>
    bySpecificity.find((range) => matchesMedia(type, range.type) || matchesMedia(range.type, type))?.q ?? 0;
  // JSON comes first of those that are as welcome.
  return content.toSorted(
    ([one], [other]) =>
      weightOf(other) - weightOf(one) || Number(isJsonFormat(other)) - Number(isJsonFormat(one)),
  );
}
