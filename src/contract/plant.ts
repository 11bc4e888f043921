// NewPlant and Plant, and the way from the bytes of a body to a NewPlant.

import { ApiError } from "./errors.ts";
import { isDecimal, parseJsonInt64 } from "./int64.ts";
import { describeFault, type JsonSyntaxError, positionOf, scanJson } from "./json-scanner.ts";
import { expectedType, validateNewPlant } from "./new-plant-schema.ts";
import { decodeUtf8, validUtf8Prefix } from "./utf8.ts";

/** A plant as the interface answers it: never an id, never a tag that was not given. */
export interface Plant {
  readonly name: string;
  readonly tag?: string;
}

/** A plant as it is sent and stored. Its id is an int64; its strings hold no U+0000 and no unpaired surrogate. */
export interface NewPlant extends Plant {
  readonly id: bigint;
}

/** What is the Plant of a NewPlant, or of anything else that has more to it. */
export function toPlant({ name, tag }: Plant): Plant {
  return tag === undefined ? { name } : { name, tag };
}

/** A NewPlant as one line of JSON, its id exact to the last digit; an engine that reads digits need not make a bigint. */
export function newPlantJson(plant: Plant & { readonly id: bigint | string }): string {
  // JSON.stringify refuses a bigint, so the id is put in front of the rest.
  return `{"id":${plant.id},${JSON.stringify(toPlant(plant)).slice(1)}`;
}

/** The refusal of a plant whose id holds a different one. */
export function conflictError({ id }: NewPlant): ApiError {
  return new ApiError(
    "conflict",
    `The id ${id} already holds a different plant, which is unchanged; choose another id.`,
  );
}

/** Whether two plants are the same in all that is stored. */
export function plantsEqual(one: Plant, other: Plant): boolean {
  return one.name === other.name && one.tag === other.tag;
}

/** The NewPlant that a body holds, or why it holds none: invalidJson, invalidPlant or unstorableText. */
export function parseNewPlant(body: Uint8Array): NewPlant | ApiError {
  const text = decodeUtf8(body);
  return text === undefined ? notUtf8(body) : parseNewPlantJson(text);
}

/** The same for a body that is text already, without a byte order mark. */
export function parseNewPlantJson(text: string): NewPlant | ApiError {
  if (text.length > parsedUnitsMax) return newPlantFromLongJson(text);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return invalidJson(text);
  }
  return judge(json, text, () => idTextOf(text));
}

/**
 * A longer text is walked, and its fields alone are parsed: JSON.parse would make an object of each of a million brackets,
 * in a time in which nobody else is answered. 4,096 units are parsed in 0.2 ms, whatever they are.
 */
const parsedUnitsMax = 4_096;

const fields = ["id", "name", "tag"];

function newPlantFromLongJson(text: string): NewPlant | ApiError {
  const walk = scanJson(text, fields);
  if ("fault" in walk) return notJsonAt(walk.fault);
  const outermost = shallowJson(text.trimStart());
  if (typeof outermost !== "object" || outermost === null || Array.isArray(outermost))
    return judge(outermost, "", () => undefined);
  const json = Object.fromEntries([...walk.members].map(([field, member]) => [field, shallowJson(member)]));
  const idText = walk.members.get("id");
  return judge(json, idText ?? "", () => idText);
}

/** What JSON.parse gives for a JSON text, but nothing of what an array or an object holds. */
function shallowJson(text: string): unknown {
  if (text.startsWith("{")) return {};
  return text.startsWith("[") ? [] : JSON.parse(text);
}

/** The number that is the id of a NewPlant as JSON, with all of its digits. */
function idTextOf(text: string): string | undefined {
  const walk = scanJson(text, fields);
  return "members" in walk ? walk.members.get("id") : undefined;
}

/** The fields of a NewPlant as texts, such as the cells of a table's row; one that is not given is undefined. */
export interface NewPlantFields {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly tag: string | undefined;
}

/** The NewPlant that texts hold, or why they hold none: invalidPlant or unstorableText. */
export function parseNewPlantFields({ id, name, tag }: NewPlantFields): NewPlant | ApiError {
  // As JSON would have it: digits are a number, and anything else is a string, which no id is.
  const candidate = { id: id !== undefined && isDecimal(id) ? Number(id) : id, name, tag };
  return judge(candidate, id ?? "", () => id);
}

/**
 * The judgement of every plant, whatever it came in.
 *
 * @param json A body as JavaScript has it, so the digits of its id may be lost.
 * @param text A text that holds the id's digits.
 * @param digitsOfId Finds them in it.
 */
function judge(json: unknown, text: string, digitsOfId: () => string | undefined): NewPlant | ApiError {
  const faults = validateNewPlant(json);
  const isNoId = faults.some(({ field }) => field === "id" || field === "");
  const id = isNoId ? undefined : exactId(json, text, digitsOfId);
  if (typeof id === "object") faults.unshift(id);
  if (typeof id !== "bigint" || faults.length > 0) {
    return new ApiError(
      "invalidPlant",
      `The body is not a NewPlant: ${faults.map(({ sentence }) => sentence).join("; ")}.`,
    );
  }

  const { name, tag } = json as Plant;
  const newPlant = tag === undefined ? { id, name } : { id, name, tag };
  return unstorableText(newPlant) ?? newPlant;
}

/** Why a plant's strings cannot be stored exactly, or undefined if they can. */
function unstorableText({ name, tag }: Plant): ApiError | undefined {
  if (isStorable(name) && (tag === undefined || isStorable(tag))) return undefined;
  const sentences = Object.entries({ name, tag: tag ?? "" })
    .filter(([, value]) => !isStorable(value))
    .map(([field, value]) => {
      const index = value.search(/\0|\p{Surrogate}/u);
      const unit = value.charCodeAt(index).toString(16).toUpperCase().padStart(4, "0");
      const nature = unit === "0000" ? "U+0000" : `the unpaired surrogate U+${unit}`;
      return `"${field}" holds ${nature} at index ${index}, which cannot be stored`;
    });
  return new ApiError("unstorableText", `${sentences.join("; ")}: remove it.`);
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** The exact id of a body that is a NewPlant but for its id's exactness, or the fault of an id that is no int64. */
function exactId(
  json: unknown,
  text: string,
  digitsOfId: () => string | undefined,
): bigint | ReturnType<typeof validateNewPlant>[number] {
  const { id } = json as { id: number };
  // Without a point or an exponent anywhere, an id that is a safe integer is what its digits say. The check costs
  // 4 ns, the walk of a common body 1 µs.
  if (Number.isSafeInteger(id) && !/[0-9][.eE]/.test(text)) return BigInt(id);

  const digits = digitsOfId();
  if (digits === undefined) throw new Error("JSON.parse found a number as id where the walk found none");
  return (
    parseJsonInt64(digits) ?? {
      field: "id",
      sentence: `"id" must be ${expectedType("id")}, but is ${digits.length > 40 ? `${digits.slice(0, 40)}…` : digits}`,
    }
  );
}

function notUtf8(body: Uint8Array): ApiError {
  const text = validUtf8Prefix(body);
  const { line, column } = positionOf(text, text.length);
  return new ApiError(
    "invalidJson",
    `The body is not UTF-8: line ${line}, column ${column} starts a byte sequence that is none; encode the JSON in UTF-8.`,
  );
}

function invalidJson(text: string): ApiError {
  const walk = scanJson(text, fields);
  if (!("fault" in walk)) throw new Error("JSON.parse refused a text in which the walk found no fault");
  return notJsonAt(walk.fault);
}

function notJsonAt(fault: JsonSyntaxError): ApiError {
  return new ApiError("invalidJson", `The body is not JSON: ${describeFault(fault)}.`);
}
