// The responses of a described operation: which one a request gets, and its body and header fields,
// which are examples of the description, or made from its schemas.

import { checkOf } from "../../core/contract/description/checks.ts";
import { ContractError, type Place } from "../../core/contract/description/place.ts";
import { toExactJson } from "../../core/contract/json/exact-json.ts";
import { isObject } from "../../core/contract/json/json-values.ts";
import { anyValue, type SchemaCheck } from "../../core/contract/schema/schema-check.ts";
import { exampleIn, fits, type ValueMaker } from "./made-values.ts";
import { byAccept, concreteMedia, isJsonMedia } from "./media-types.ts";

/** What a response is chosen by, besides its status. */
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

/** The first seed of values that are the same each time. */
const fixedSeed = 1;

export class DescribedResponses {
  /** The members of `responses`. */
  readonly #described: ReadonlyMap<string, Place>;
  readonly #maker: ValueMaker;

  /** @param operation of the description as responses have it. */
  constructor(operation: Place, maker: ValueMaker) {
    const members = operation.at("responses").members;
    this.#described = new Map(members.map(([key, place]) => [key.toUpperCase(), place]));
    this.#maker = maker;
  }

  /** The described response with a status, of its class, or of all others. */
  at(status: number): FoundResponse | undefined {
    const keys = [String(status), `${Math.trunc(status / 100)}XX`, "DEFAULT"];
    const place = this.#described.get(keys.find((key) => this.#described.has(key)) ?? "");
    return place && { status, place };
  }

  /** The response to a request that is as described: the first success, or what there is instead. */
  usual(): FoundResponse | undefined {
    const [first] = this.#withStatus();
    const success = first !== undefined && first.status < 300 ? first : undefined;
    return success ?? (this.#described.has("DEFAULT") ? this.at(200) : first);
  }

  /** The responses that are described for a status or a class, in their order. */
  #withStatus(): FoundResponse[] {
    // A server that responds with 101 speaks another protocol.
    const keys = [...this.#described.keys()].filter((key) => /^[2-5](?:\d\d|XX)$/.test(key));
    return keys.toSorted().flatMap((key) => this.at(Number(key.replace("XX", "00"))) ?? []);
  }

  /** The response that has an example with a name, of the one that is sent otherwise, or of all. */
  withExample(name: string, first: FoundResponse | undefined): FoundResponse | undefined {
    const has = ({ place }: FoundResponse) =>
      place.at("content").members.some(([, media]) => media.at("examples", name).value !== undefined);
    return [...(first === undefined ? [] : [first]), ...this.#withStatus()].find(has);
  }

  /** Writes a response; undefined if no value fits its schema. */
  async write({ status, place }: FoundResponse, wanted: Wanted): Promise<Response | undefined> {
    const content = withoutBody.includes(status) ? [] : place.at("content").members;
    const headers = await this.#headers(place, wanted);
    if (content.length === 0) return new Response(null, { status, headers });
    for (const [type, media] of byAccept(content, wanted.accept)) {
      const body = await this.#body(isJsonMedia(concreteMedia(type)), media, wanted);
      if (body === undefined) continue;
      headers.set("Content-Type", concreteMedia(type));
      return new Response(body, { status, headers });
    }
    return undefined;
  }

  async #body(isJson: boolean, media: Place, wanted: Wanted): Promise<string | undefined> {
    const named = examplesOf(media.at("examples", wanted.example ?? ""));
    const examples = [
      ...media.at("examples").members.flatMap(([, example]) => examplesOf(example)),
      media.at("example").value,
    ].filter((value) => value !== undefined);
    const write = (value: unknown) => {
      if (isJson) return toExactJson(value);
      return typeof value === "object" ? undefined : String(value);
    };
    if (wanted.example !== undefined && named.length > 0) return write(named[0]);
    const schema = media.at("schema");
    const check = await this.#check(schema);
    // An example of a schema that cannot be read is sent as it is.
    const isFit = (value: unknown) => check === undefined || fits(check, value);
    const error = isJson && wanted.error !== undefined && isFit(wanted.error) ? [wanted.error] : [];
    const found = [...error, ...(wanted.isDynamic ? [] : examples)].find(
      (value) => isFit(value) && write(value) !== undefined,
    );
    if (found !== undefined) return write(found);
    if (check === undefined) return undefined;
    if (schema.value === undefined) return isJson ? "{}" : "";
    const made = this.#maker.make(schema, check, wanted.isDynamic ? undefined : fixedSeed);
    return made === undefined ? undefined : write(made);
  }

  /** The header fields that are required, and those that have an example. */
  async #headers(response: Place, { isDynamic }: Wanted): Promise<Headers> {
    const headers = new Headers();
    for (const [name, header] of response.at("headers").members) {
      const schema = header.at("schema");
      const example = header.at("example").value ?? exampleIn(schema.object ?? {});
      if (/^content-type$/i.test(name) || (header.at("required").value !== true && example === undefined))
        continue;
      const check = await this.#check(schema);
      const made = check && this.#maker.make(schema, check, isDynamic ? undefined : fixedSeed);
      const value = example ?? made;
      const text = isObject(value) ? Object.entries(value).flat().join(",") : String(value ?? "");
      // Headers throws for characters that no field may have (RFC 9110, section 5.5).
      if (/^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\t -~\x80-\xff]*$/.test(text)) headers.set(name, text);
    }
    return headers;
  }

  /** Undefined for a schema that cannot be checked. */
  async #check(schema: Place): Promise<SchemaCheck | undefined> {
    try {
      return schema.value === undefined ? anyValue : await checkOf(schema);
    } catch (error) {
      if (error instanceof ContractError) return undefined;
      throw error;
    }
  }
}

function examplesOf(example: Place): unknown[] {
  return ["value", "dataValue", "serializedValue"]
    .map((name) => example.at(name).value)
    .filter((value) => value !== undefined)
    .slice(0, 1);
}
