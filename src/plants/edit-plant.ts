// Serves PUT and PATCH of one plant, such as {base}/plants/{id}: a replacement, and a JSON merge patch
// (RFC 7396) in which all numbers keep their digits.

import { ApiError } from "../base/errors.ts";
import type { Collection, EditBody, EditOperation, Field, Plant } from "../contract/contract.ts";
import {
  bodyJson,
  invalidJson,
  readPlant,
  responseJson,
  type SentObject,
  unwrapBody,
  withoutMembers,
} from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import {
  assertReadable,
  describeFault,
  type Fault,
  loggedFault,
  orExcess,
  Work,
} from "../contract/schema-check.ts";
import { type FieldValue, fromJson } from "../contract/stored-types.ts";
import { withArticle } from "../contract/words.ts";
import type { Operation, OperationDocument } from "../http/operation.ts";
import { parseExactJson, toExactJson } from "../json/exact-json.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { SentJson, type SentValue, sentText } from "../json/sent-json.ts";
import { entityTag } from "../store/shared/entity-tag.ts";
import { type StoredPlant, timesOf } from "../store/shared/plant-rows.ts";
import { defineOperation, type Reply } from "./define-operation.ts";
import { type Edited, editOne } from "./edit-one.ts";
import { entityTagHeader, noSuchPlant } from "./get-plant.ts";
import { idInPath } from "./parameters.ts";

/** The media type of a merge patch. */
const mergePatchType = "application/merge-patch+json";

const durability =
  "The response is sent only after the change is on stable storage. With an ETag in `If-Match` nobody else's change is overwritten.";

/** A replacement or a change, which the contract describes. */
export function editOperation(collection: Collection, kind: EditKind): Operation {
  const shape = collection.operations[kind] as EditOperation;
  const isChange = kind === "change";
  const mayCreate = !isChange && shape.successes[201] !== undefined;
  const one = withArticle(collection.words.one);
  // Errors name the body of this operation.
  const sentTo = { ...collection, words: { ...collection.words, body: shape.body.name } };
  const does = isChange
    ? `Changes properties of ${one} (RFC 7396): null removes one, and those that are not sent stay as they
are.`
    : `Replaces ${one}${mayCreate ? ", or creates it" : ""}.`;
  return defineOperation({
    ...shape,
    method: isChange ? "PATCH" : "PUT",
    summary: `${isChange ? "Change" : "Replace"} ${one}`,
    description: `${does} ${durability}`,
    parameters: { id: idInPath(collection) },
    isConditional: true,
    responses: responsesOf(collection, shape),
    body: {
      types: ["application/json", ...(isChange ? [mergePatchType] : [])],
      schema: exampleBody(collection),
      parse: (bytes) => bytes,
    },
    async handle(call) {
      const { parameters, body } = call;
      const { id } = parameters;
      const sent = parseEdit(collection, shape.body, kind, body, id);
      if (sent instanceof ApiError) return sent;
      const edited = await editOne(collection, id, call, (stored) => {
        if (stored === undefined && !mayCreate) return noSuchPlant(collection, id);
        const plant = editedPlant(sentTo, shape.body, kind, sent, stored, id);
        // A body is no larger than what may be stored, but a patch may add to what is.
        return isChange && !(plant instanceof ApiError)
          ? (call.checkSize(bodyJson(collection, plant)) ?? plant)
          : plant;
      });
      return edited instanceof ApiError ? edited : replyOf(collection, shape, edited, call);
    },
  });
}

function exampleBody(collection: Collection): object {
  const [example] = collection.examples as readonly [Plant];
  return { type: "object", example: parseExactJson(bodyJson(collection, example)) };
}

function responsesOf({ words }: Collection, { successes }: EditOperation): OperationDocument["responses"] {
  return Object.fromEntries(
    Object.entries(successes).map(([status, response]) => [
      status,
      {
        description: `${status === "201" ? `A new ${words.one}` : `The ${words.one}`}.`,
        headers: { ETag: entityTagHeader },
        ...(response !== undefined && { returns: "one" as const }),
      },
    ]),
  );
}

function replyOf(
  collection: Collection,
  { status, successes }: EditOperation,
  edited: Edited,
  call: { readonly url: string },
): Reply {
  const stored = edited.stored as StoredPlant;
  const own = edited.isCreated ? 201 : status;
  const response = successes[own];
  const headers = { ETag: entityTag(collection, stored) };
  if (response === undefined) return { status: own, headers };
  const url = response.urlName === undefined ? "" : call.url;
  const jsonText = responseJson(collection, response, stored, { ...timesOf(stored), url });
  return { status: own, jsonText, headers };
}

/** PUT, or PATCH. */
export type EditKind = "replace" | "change";

/**
 * Parses the body of an edit of the resource with an id, or says what is wrong with it.
 */
export function parseEdit(
  { id: idMember, fields }: Collection,
  { name: bodyName, members, wrapper, ignored, check }: EditBody,
  kind: EditKind,
  bytes: Uint8Array,
  id: PlantId,
): SentJson | ApiError {
  const text = unwrapBody({ wrapper }, bodyName, bytes);
  if (text instanceof ApiError) return text;
  const sent = SentJson.parse(text, () => [...members, idMember.name]);
  if ("error" in sent) return invalidJson(sent.error);
  const invalid = (reason: string, logged = reason) => {
    const sentence = (each: string) => `The body is not ${withArticle(bodyName)}: ${each}.`;
    return new ApiError("invalidPlant", sentence(reason), { logged: sentence(logged) });
  };
  if (!isObject(sent.value)) return invalid("it must be an object");
  const takesId = idMember.isAccepted && !ignored.includes(idMember.name);
  const sentId = takesId ? sent.member(idMember.name) : undefined;
  if (sentId !== undefined && fromJson(idMember.type, sentId) !== id)
    return invalid(`"${idMember.name}" must be ${idMember.type.toJson(id)}, as in the path, or be left out`);
  // A merge patch has null for what it removes, whatever the schema of the property.
  const removable = () => {
    if (kind !== "change") return [];
    const others = fields.flatMap((field) => {
      const isTaken = field.isOthers && members.includes(field.name);
      return Object.keys((isTaken ? (sentField(sent, field)?.exact() as Json) : undefined) ?? {});
    });
    return [...fields.flatMap(({ name, isRequired }) => (isRequired ? [] : [name])), ...others];
  };
  const fault = orExcess(() => editFault(sent, { check, ignored }, removable));
  if (fault === undefined) return sent;
  return typeof fault === "string"
    ? invalid(fault)
    : invalid(describeFault(fault), loggedFault(fault, fields));
}

/** A field as it was sent: the members that no property names are one. */
function sentField(sent: SentJson, { name, gather }: Field): SentValue | undefined {
  if (gather === undefined) return sent.member(name);
  const found = gather(sent.text(), new Work());
  return found === undefined ? undefined : sentText(found);
}

/**
 * The first fault of a body, but for the null of what a patch removes. Throws as its check does.
 *
 * @param removable the members that a patch may remove.
 */
function editFault(
  sent: SentJson,
  { check, ignored }: Pick<EditBody, "check" | "ignored">,
  removable: () => readonly string[],
): Fault | undefined {
  assertReadable(sent.text());
  let value = withoutMembers(sent.exact() as Json, ignored);
  const work = new Work();
  let fault = check.fault(value, work);
  const names = fault === undefined ? [] : removable();
  while (fault !== undefined) {
    const rest = withoutNull(value, fault.path, names);
    if (rest === undefined) return fault;
    value = rest;
    fault = Object.keys(value).length === 0 ? undefined : check.fault(value, work);
  }
  return undefined;
}

/** An object without the null at a path, if it is one that removes a member; undefined if it is none. */
function withoutNull(value: Json, path: Fault["path"], removable: readonly string[]): Json | undefined {
  if (path.length === 1 && !removable.includes(String(path[0]))) return undefined;
  const [first, ...below] = path;
  if (first === undefined) return undefined;
  const member = value[first];
  if (below.length === 0) return member === null ? withoutMembers(value, [String(first)]) : undefined;
  const rest = isObject(member) ? withoutNull(member, below, below.map(String)) : undefined;
  return rest && { ...value, [first]: rest };
}

/**
 * The plant after a replacement or a patch, or the error of what it would be. It must be what a create
 * may send. What a body cannot have stays as it is stored.
 *
 * @param collection has the name of the body in errors.
 */
export function editedPlant(
  collection: Collection,
  { members }: Pick<EditBody, "members">,
  kind: EditKind,
  sent: SentJson,
  stored: Plant | undefined,
  id: PlantId,
): Plant | ApiError {
  const changes = new Map<string, SentValue>();
  const kept: (FieldValue | undefined)[] = [];
  for (const [index, field] of collection.fields.entries()) {
    const before = stored?.values[index];
    const isTaken = members.includes(field.name);
    const change = isTaken ? sentField(sent, field) : undefined;
    // A replacement that need not have a required member leaves it as it is.
    const isReplaced = change !== undefined || (kind === "replace" && !field.isRequired);
    kept.push(isTaken && isReplaced ? undefined : before);
    if (change === undefined) continue;
    const after = kind === "replace" ? change : mergedField(field, before, change);
    if (after instanceof ApiError) return after;
    if (after !== undefined) changes.set(field.name, after);
  }
  const edited = new EditedObject(collection, id, changes, kept);
  return readPlant(collection, edited, () => id, kept);
}

/** The object that a create of the plant after an edit would send. */
class EditedObject implements SentObject {
  readonly value: Json = {};
  readonly #collection: Collection;
  readonly #id: PlantId;
  readonly #changes: ReadonlyMap<string, SentValue>;
  readonly #kept: Plant["values"];

  constructor(
    collection: Collection,
    id: PlantId,
    changes: ReadonlyMap<string, SentValue>,
    kept: Plant["values"],
  ) {
    this.#collection = collection;
    this.#id = id;
    this.#changes = changes;
    this.#kept = kept;
  }

  member(name: string): SentValue | undefined {
    return this.#changes.get(name);
  }

  exact(): Json {
    const { id, fields } = this.#collection;
    const members: [string, unknown][] = id.isRequired ? [[id.name, id.type.toExact(this.#id)]] : [];
    for (const [index, { name, type, isOthers }] of fields.entries()) {
      const stored = this.#kept[index];
      const value = stored === undefined ? this.member(name)?.exact() : type.toExact(stored);
      if (isOthers) members.push(...Object.entries(value ?? {}));
      else if (value !== undefined) members.push([name, value]);
    }
    return Object.fromEntries(members);
  }
}

/** A field after a change, or its error; undefined if it is removed. */
function mergedField(
  { name, type, isRequired }: Field,
  before: FieldValue | undefined,
  change: SentValue,
): SentValue | ApiError | undefined {
  // A required member cannot be removed: its null is a value, if its type has one.
  if (change.value === null && !(isRequired && fromJson(type, change) !== undefined)) return undefined;
  if (!isObject(change.value)) return change;
  try {
    const value = merge(before === undefined ? undefined : type.toExact(before), change.exact());
    const text = toExactJson(value);
    return { value, exact: () => value, text: () => text };
  } catch (error) {
    // JSON.parse with a reviver, and JSON.stringify, recurse.
    if (!(error instanceof RangeError)) throw error;
    return new ApiError("invalidPlant", `"${name}" is nested too deeply to be merged; send it with PUT.`);
  }
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, merge(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
