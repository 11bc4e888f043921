// The bodies of PUT and PATCH: a replacement, and a JSON merge patch (RFC 7396) in which all
// numbers keep their digits.

import type { Contract, Field, Plant } from "../core/contract/contract.ts";
import type { EditShape } from "../core/contract/description/edit-shape.ts";
import { ApiError } from "../core/contract/errors.ts";
import { scanJson } from "../core/contract/json/json-scanner.ts";
import { decodeUtf8 } from "../core/contract/json/utf8.ts";
import { invalidJson, invalidUtf8, parsePlant, parsePlantJson } from "../core/contract/plant.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import { isObject, type Json } from "../core/contract/schema/schemas.ts";
import { withArticle } from "../core/contract/words.ts";

/** The plant of a body that replaces the one with an id. */
export function parseReplacement(
  contract: Contract,
  { allowsOthers, requiresId }: EditShape,
  body: Uint8Array,
  id: PlantId,
): Plant | ApiError {
  const plant = parsePlant({ ...contract, allowsOthers }, body, requiresId ? undefined : () => id);
  if (plant instanceof ApiError || plant.id === id) return plant;
  const { name, type } = contract.id;
  const message = `"${name}" must be ${type.toJson(id)}, as in the path, but is ${type.toJson(plant.id)}`;
  return new ApiError(
    "invalidPlant",
    `The body is not ${withArticle(contract.words.body)} for this path: ${message}.`,
  );
}

/** The members of a merge patch as JSON. */
export type Patch = ReadonlyMap<string, string>;

/** Parses a merge patch of the plant with an id, or returns what is wrong with it. */
export function parsePatch(
  { id: idMember, ignored, words }: Contract,
  { members, required, isFilled, allowsOthers }: EditShape,
  body: Uint8Array,
  id: PlantId,
): Patch | ApiError {
  const text = decodeUtf8(body);
  if (text === undefined) return invalidUtf8(body);
  const scan = scanJson(text, [...members, idMember.name, ...ignored]);
  if ("error" in scan) return invalidJson(scan.error);
  const invalid = (reason: string) =>
    new ApiError("invalidPlant", `The body is not a merge patch of ${withArticle(words.one)}: ${reason}.`);
  if (!text.trimStart().startsWith("{")) return invalid("it must be an object");
  if (isFilled && scan.members.size === 0 && scan.other === undefined)
    return invalid("it must have a member");
  const { name, type, isAccepted } = idMember;
  const sentId = isAccepted ? scan.members.get(name) : undefined;
  if (sentId !== undefined && type.fromJson(JSON.parse(sentId), () => sentId) !== id)
    return invalid(`"${name}" must be ${type.toJson(id)}, as in the path, or be left out`);
  const missing = required.find((name) => !scan.members.has(name));
  if (missing !== undefined) return invalid(`"${missing}" is required, but is missing`);
  if (scan.other !== undefined && !allowsOthers)
    return invalid(`it must have no member ${JSON.stringify(scan.other)}`);
  return new Map(
    members.flatMap((name) => {
      const json = scan.members.get(name);
      return json === undefined ? [] : [[name, json] as const];
    }),
  );
}

/** The plant after a patch, or the error of what it would make. */
export function mergePlant(contract: Contract, stored: Plant, patch: Patch): Plant | ApiError {
  const merged: string[] = [];
  for (const [index, field] of contract.fields.entries()) {
    const value = stored.values[index];
    const before = value === undefined ? undefined : field.type.toJson(value);
    const change = patch.get(field.name);
    const after = change === undefined ? before : mergeField(field, before, change);
    if (after instanceof ApiError) return after;
    if (after !== undefined) merged.push(field.jsonName + after);
  }
  return parsePlantJson(contract, `{${merged.join(",")}}`, () => stored.id);
}

/** The JSON of a field after a change, or its error; undefined if it is removed. */
function mergeField({ name, type, isRequired }: Field, before: string | undefined, change: string) {
  // A required member cannot be removed: its null is a value, if its type has one.
  if (change === "null" && !(isRequired && type.kind.endsWith(" or null"))) return undefined;
  if (!change.startsWith("{")) return change;
  try {
    return JSON.stringify(merge(before === undefined ? undefined : parseRaw(before), parseRaw(change)));
  } catch (error) {
    // JSON.parse with a reviver, and JSON.stringify, recurse.
    if (!(error instanceof RangeError)) throw error;
    return new ApiError("invalidPlant", `"${name}" is nested too deeply to be merged; send it with PUT.`);
  }
}

/** A value in which each number is its text. */
function parseRaw(json: string): unknown {
  const reviver = (_: string, value: unknown, ...[context]: { source?: string }[]) =>
    typeof value === "number" ? JSON.rawJSON(context?.source ?? String(value)) : value;
  return JSON.parse(json, reviver);
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch;
  const merged = new Map(isPlainObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, merge(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

function isPlainObject(value: unknown): value is Json {
  return isObject(value) && !JSON.isRawJSON(value);
}
