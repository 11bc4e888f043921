// An oracle for request bodies that shares no code with the server: another JSON parser, another
// schema validator, and integers of any length.

import { isUtf8 } from "node:buffer";
import { registerSchema, type SchemaObject, validate } from "@hyperjump/json-schema/draft-2020-12";
import { isLosslessNumber, parse } from "lossless-json";
import type { Plant } from "../../../src/contract/contract.ts";
import { plantStore } from "../../support/contracts.ts";

const openapi = plantStore.document as unknown as {
  readonly components: {
    readonly schemas: { readonly Plant: { readonly properties: Readonly<Record<string, object>> } };
  };
};

const schemaId = "https://plantstore.test/new-plant";
const dialect = "https://json-schema.org/draft/2020-12/schema";
/** Without the pattern: the text that it rejects is an error of its own, see isStorable. */
const components = JSON.parse(
  JSON.stringify(openapi.components, (key, value) => (key === "pattern" ? undefined : value)),
);
const newPlantSchema = { $ref: "#/components/schemas/NewPlant", components };
registerSchema(newPlantSchema as unknown as SchemaObject, schemaId, dialect);
const validator = await validate(schemaId);

/** Whether a value is a NewPlant by the schema, which knows no int64. */
function isNewPlant(value: unknown): boolean {
  return validator(value as Parameters<typeof validator>[0]).valid;
}

const textFields = Object.keys(openapi.components.schemas.Plant.properties);

/** The plant of a body, or its expected error; undefined if the parser cannot go so deep. */
export function parseBody(
  body: Uint8Array,
): Plant | "invalidJson" | "invalidPlant" | "unstorableText" | undefined {
  if (!isUtf8(body)) return "invalidJson";
  const text = Buffer.from(body)
    .toString("utf8")
    .replace(/^\ufeff/, "");
  let json: unknown;
  try {
    json = parse(text, null, { onDuplicateKey: ({ newValue }) => newValue });
  } catch (error) {
    if (error instanceof SyntaxError) return "invalidJson";
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  return parseValue(json);
}

function parseValue(json: unknown): Plant | "invalidPlant" | "unstorableText" {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return "invalidPlant";
  const { id, ...texts } = Object.fromEntries(
    ["id", ...textFields]
      .filter((field) => Object.hasOwn(json, field) && json[field as keyof typeof json] !== undefined)
      .map((field) => [field, json[field as keyof typeof json] as unknown]),
  );
  const exactId = isLosslessNumber(id) ? int64(id.toString()) : undefined;
  const forSchema = {
    ...(id === undefined ? {} : { id: exactId === undefined ? "no int64" : 1 }),
    ...Object.fromEntries(Object.entries(texts).map(([field, value]) => [field, shallow(value)])),
  };
  if (!isNewPlant(forSchema) || exactId === undefined) return "invalidPlant";
  if (!Object.values(texts).every((value) => isStorable(String(value)))) return "unstorableText";
  const { name, tag } = texts as { readonly name: string; readonly tag?: string };
  return { id: exactId, values: [name, tag] };
}

/** A value of the same type that the validator accepts: it knows no numbers as texts. */
function shallow(value: unknown): unknown {
  if (isLosslessNumber(value)) return 1;
  if (Array.isArray(value)) return [];
  return typeof value === "object" && value !== null ? {} : value;
}

/** The value of a JSON number, if it is an int64. */
function int64(text: string): bigint | undefined {
  const [, mantissa = "", exponent = "0"] = /^([^eE]+)(?:[eE](.+))?$/.exec(text) ?? [];
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = BigInt(`${whole}${fraction}`.replace("-", ""));
  if (digits === 0n) return 0n;
  const shift = Number(exponent) - fraction.length;
  const zerosAtEnd = /0*$/.exec(String(digits))?.[0].length ?? 0;
  if (shift > 18 || -shift > zerosAtEnd) return undefined;
  const value = shift < 0 ? digits / 10n ** BigInt(-shift) : digits * 10n ** BigInt(shift);
  const signed = whole.startsWith("-") ? -value : value;
  return BigInt.asIntN(64, signed) === signed ? signed : undefined;
}

function isStorable(text: string): boolean {
  if (text.includes("\u0000")) return false;
  try {
    encodeURIComponent(text);
    return true;
  } catch {
    // It throws on unpaired surrogates, and on nothing else.
    return false;
  }
}
