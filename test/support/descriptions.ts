// Descriptions of one collection, for tests of what is read of them.

import type { Plant } from "../../src/contract/contract.ts";
import { parsePlantJson } from "../../src/contract/plant.ts";
import { toExactJson } from "../../src/json/exact-json.ts";
import { readSingle, type SingleContract } from "./contracts.ts";

type Json = Readonly<Record<string, unknown>>;

/** A body or a response of JSON. */
export const jsonOf = (schema: unknown) => ({ content: { "application/json": { schema } } });

export const objectOf = (properties: Json, required: readonly string[] = []) => ({
  type: "object",
  required,
  properties,
});

export interface DescribedThings {
  /** The schema of a body; an object with an id and a name by default. */
  readonly body?: unknown;
  /** The schema of the response to the create; that of the body by default. */
  readonly response?: unknown;
  /** The properties of the body, besides the id, where no `body` is given. */
  readonly properties?: Json;
  readonly required?: readonly string[];
  readonly version?: string;
  readonly schemas?: Json;
  /** More of the item of /things. */
  readonly collection?: Json;
  /** The operations of one thing, at /things/{id}. */
  readonly item?: Json;
  /** More of the POST. */
  readonly post?: Json;
  /** More of the description. */
  readonly more?: Json;
}

/** A description of things, as an object. */
export function thingsDocument(described: DescribedThings): Json {
  const { properties = { name: { type: "string" } }, required = [], version = "3.1.0" } = described;
  const body = described.body ?? objectOf({ id: { type: "integer" }, ...properties }, ["id", ...required]);
  const { response = body, schemas = {}, collection = {}, item, post = {}, more = {} } = described;
  return {
    openapi: version,
    info: { title: "Things", version: "1" },
    paths: {
      "/things": {
        post: {
          requestBody: jsonOf(body),
          responses: { 200: { description: "ok", ...jsonOf(response) } },
          ...post,
        },
        ...collection,
      },
      ...(item !== undefined && { "/things/{id}": item }),
    },
    components: { schemas },
    ...more,
  };
}

/** Reads a description of things. */
export function readThings(described: DescribedThings): Promise<SingleContract> {
  return readSingle({ text: toExactJson(thingsDocument(described)) });
}

/** What becomes of a body: the plant, or the message of its error. */
export function parsed(collection: SingleContract, json: string): Plant | string {
  const result = parsePlantJson(collection, json, collection.id.isRequired ? undefined : () => 1n);
  return "values" in result ? result : result.message;
}

/** Whether a body is accepted. */
export function accepts(collection: SingleContract, json: string): boolean {
  return typeof parsed(collection, json) === "object";
}

/** The message of why a description is refused; "served" if it is not. */
export async function refusalOf(described: DescribedThings): Promise<string> {
  try {
    await readThings(described);
    return "served";
  } catch (error) {
    return (error as Error).message;
  }
}
