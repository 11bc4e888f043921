// Parses and applies the bodies of PUT and PATCH: a replacement, and a JSON merge patch (RFC 7396)
// in which all numbers keep their digits.

import { ApiError } from "../base/errors.ts";
import type { Collection, EditBody, Field, Plant } from "../contract/contract.ts";
import { invalidJson, parsePlantJson, unwrapBody } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { describeFault, excessOf, type Fault, loggedFault, Work } from "../contract/schema-check.ts";
import { withArticle } from "../contract/words.ts";
import { parseExactJson } from "../json/exact-json.ts";
import { scanJson } from "../json/json-scanner.ts";
import { isObject, type Json } from "../json/json-values.ts";

/** PUT, or PATCH. */
export type EditKind = "replace" | "change";

/**
 * Parses the body of an edit of the resource with an id: the JSON of its members that are fields, or
 * what is wrong with it.
 */
export function parseEdit(
  { id: idMember, fields }: Collection,
  { name: bodyName, members, wrapper, ignored, check }: EditBody,
  kind: EditKind,
  bytes: Uint8Array,
  id: PlantId,
): ReadonlyMap<string, string> | ApiError {
  const text = unwrapBody({ wrapper }, bodyName, bytes);
  if (text instanceof ApiError) return text;
  const scan = scanJson(text, [...members, idMember.name]);
  if ("error" in scan) return invalidJson(scan.error);
  const invalid = (reason: string, logged = reason) => {
    const sentence = (each: string) => `The body is not ${withArticle(bodyName)}: ${each}.`;
    return new ApiError("invalidPlant", sentence(reason), { logged: sentence(logged) });
  };
  if (!text.trimStart().startsWith("{")) return invalid("it must be an object");
  const takesId = idMember.isAccepted && !ignored.includes(idMember.name);
  const sentId = takesId ? scan.members.get(idMember.name) : undefined;
  if (sentId !== undefined && idMember.type.fromJson(JSON.parse(sentId), () => sentId) !== id)
    return invalid(`"${idMember.name}" must be ${idMember.type.toJson(id)}, as in the path, or be left out`);
  const others = new Map<string, string>();
  for (const { name, gather } of fields) {
    const found = members.includes(name) ? gather?.(text.trim(), new Work()) : undefined;
    if (found !== undefined) others.set(name, found);
  }
  // A merge patch has null for what it removes, whatever the schema of the property.
  const removable =
    kind === "change"
      ? [
          ...fields.flatMap(({ name, isRequired }) => (isRequired ? [] : [name])),
          ...[...others.values()].flatMap((each) => Object.keys(JSON.parse(each))),
        ]
      : [];
  const fault = faultOf(text, { check, ignored, removable });
  if (fault === undefined) return new Map([...scan.members, ...others]);
  return typeof fault === "string"
    ? invalid(fault)
    : invalid(describeFault(fault), loggedFault(fault, fields));
}

function faultOf(
  text: string,
  {
    check,
    ignored,
    removable,
  }: Pick<EditBody, "check" | "ignored"> & { readonly removable: readonly string[] },
): string | Fault | undefined {
  try {
    const sent = parseExactJson(text) as Json;
    const value = Object.fromEntries(Object.entries(sent).filter(([name]) => !ignored.includes(name)));
    const work = new Work();
    let fault = check.fault(value, work);
    while (fault !== undefined && removeNull(value, fault.path, removable))
      fault = Object.keys(value).length === 0 ? undefined : check.fault(value, work);
    return fault;
  } catch (error) {
    const excess = excessOf(error);
    if (excess === undefined) throw error;
    return excess;
  }
}

/** Removes the null at a path, if it is one that removes a member; false if it is none. */
function removeNull(value: Json, path: Fault["path"], removable: readonly string[]): boolean {
  if (path.length === 0 || (path.length === 1 && !removable.includes(String(path[0])))) return false;
  const last = path.at(-1) as string;
  let parent: unknown = value;
  for (const name of path.slice(0, -1)) parent = isPlainObject(parent) ? parent[name] : undefined;
  if (!isPlainObject(parent) || parent[last] !== null) return false;
  delete (parent as Record<string, unknown>)[last];
  return true;
}

/**
 * The plant after a replacement or a patch, or the error of what it would be. It must be what a create
 * may send. What a body cannot have stays as it is stored.
 *
 * @param sent the members of the body.
 */
export function editedPlant(
  collection: Collection,
  { name: body, members }: EditBody,
  kind: EditKind,
  sent: ReadonlyMap<string, string>,
  stored: Plant | undefined,
  id: PlantId,
): Plant | ApiError {
  const { type, name, isRequired } = collection.id;
  const edited = isRequired ? [`${JSON.stringify(name)}:${type.toJson(id)}`] : [];
  for (const [index, field] of collection.fields.entries()) {
    const value = stored?.values[index];
    const before = value === undefined ? undefined : field.type.toJson(value);
    const change = sent.get(field.name);
    let after = before;
    if (members.includes(field.name) && kind === "replace") after = change;
    else if (members.includes(field.name) && change !== undefined) {
      const merged = mergeField(field, before, change);
      if (merged instanceof ApiError) return merged;
      after = merged;
    }
    if (after === undefined || (field.isOthers && after === "{}")) continue;
    edited.push(field.isOthers ? after.slice(1, -1) : field.jsonName + after);
  }
  const words = { ...collection.words, body };
  return parsePlantJson({ ...collection, words }, `{${edited.join(",")}}`, () => id);
}

/** The JSON of a field after a change, or its error; undefined if it is removed. */
function mergeField({ name, type, isRequired }: Field, before: string | undefined, change: string) {
  // A required member cannot be removed: its null is a value, if its type has one.
  const isValue = isRequired && type.fromJson(null, () => "null") !== undefined;
  if (change === "null" && !isValue) return undefined;
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
