// The references of a description: follows them, merges allOf, and brings OpenAPI 3.0 to the dialect
// of 3.1 (JSON Schema 2020-12).

import { pointerTo, referencedMembers } from "../json/json-pointer.ts";
import { isAnnotation, isObject, type Json, mapSubschemas } from "../schema/schemas.ts";
import { contractError } from "./contract-error.ts";

/** The last name of a chain of references, such as "Plant"; undefined if there is none. */
export function referencedName(value: unknown): string | undefined {
  return isObject(value) && typeof value.$ref === "string" ? referencedMembers(value.$ref).at(-1) : undefined;
}

/** Replacing references makes a tree of a graph: a small file can expand to any size. */
const nodesMax = 20_000;

/** Resolves the references of one description. Its methods throw an OperatorError. */
export class References {
  readonly #document: Json;
  readonly #isVersion30: boolean;
  #nodes = 0;

  constructor(document: Json) {
    this.#document = document;
    this.#isVersion30 = String(document.openapi).startsWith("3.0");
  }

  /** The object that a value is or refers to; undefined if that is not an object. */
  resolve(value: unknown, pointer: string): Json | undefined {
    const seen = new Set<string>();
    let found = value;
    while (isObject(found) && typeof found.$ref === "string") {
      if (seen.has(found.$ref)) throw contractError(pointer, `the reference ${found.$ref} is a cycle`);
      seen.add(found.$ref);
      found = this.#target(found.$ref, pointer);
    }
    return isObject(found) ? found : undefined;
  }

  /** A schema with all its references replaced by their targets, in the dialect of OpenAPI 3.1. */
  expand(schema: unknown, pointer: string): Json {
    const expanded = this.#expand(schema, pointer, []);
    if (!isObject(expanded)) throw contractError(pointer, "a schema must be an object");
    return expanded;
  }

  #target(reference: string, pointer: string): unknown {
    if (!reference.startsWith("#"))
      throw contractError(pointer, `the reference ${reference} is to another file; put its target here`);
    let target: unknown = this.#document;
    for (const member of referencedMembers(reference))
      target =
        (isObject(target) || Array.isArray(target)) && Object.hasOwn(target, member)
          ? (target as Json)[member]
          : undefined;
    if (target === undefined) throw contractError(pointer, `the reference ${reference} has no target`);
    return target;
  }

  #expand(value: unknown, pointer: string, open: readonly string[]): unknown {
    if (++this.#nodes > nodesMax)
      throw contractError(pointer, `its schemas have more than ${nodesMax} parts with their references`);
    if (Array.isArray(value))
      return value.map((item, index) => this.#expand(item, pointerTo(pointer, String(index)), open));
    if (!isObject(value)) return value;
    if (typeof value.$ref === "string") {
      const { $ref, ...beside } = value as Json & { readonly $ref: string };
      if (open.includes($ref)) throw contractError(pointer, `the reference ${$ref} is a cycle`);
      const target = this.#expand(this.#target($ref, pointer), $ref, [...open, $ref]);
      // OpenAPI 3.0 ignores the keywords beside a reference.
      if (this.#isVersion30 || Object.keys(beside).length === 0) return target;
      const own = this.#expand(beside, pointer, open) as Json;
      return mergeAllOf({ ...own, allOf: [target, ...(Array.isArray(own.allOf) ? own.allOf : [])] });
    }
    if (open.length > 200) throw contractError(pointer, "its schemas are nested too deeply");
    const recursive = Object.keys(value).find((name) => /^\$(?:dynamic|recursive)/.test(name));
    if (recursive !== undefined) throw contractError(pointer, `the keyword ${recursive} is not supported`);
    // Values are compared one by one.
    if (Array.isArray(value.enum)) this.#nodes += value.enum.length;
    const expanded = mapSubschemas(value, (member, ...names) =>
      this.#expand(member, pointerTo(pointer, ...names), open),
    );
    return mergeAllOf(this.#isVersion30 ? fromVersion30(expanded) : expanded);
  }
}

/** `nullable` and the booleans of limits, as 3.1 writes them. */
function fromVersion30(schema: Json): Json {
  const changed: Record<string, unknown> = { ...schema };
  if (typeof schema.nullable === "boolean") delete changed.nullable;
  for (const [exclusive, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof schema[exclusive] !== "boolean") continue;
    delete changed[exclusive];
    if (schema[exclusive] && schema[limit] !== undefined) {
      changed[exclusive] = schema[limit];
      delete changed[limit];
    }
  }
  if (schema.nullable === true && typeof schema.type === "string") {
    changed.type = [schema.type, "null"];
    if (Array.isArray(schema.enum) && !schema.enum.includes(null)) changed.enum = [...schema.enum, null];
  }
  return changed;
}

/** A schema with the members of its allOf, where they do not contradict each other. */
function mergeAllOf(schema: Json): Json {
  const { allOf, ...own } = schema;
  if (!Array.isArray(allOf) || !allOf.every(isObject)) return schema;
  const merged: Record<string, unknown> = {};
  for (const part of [...allOf, own])
    for (const [name, value] of Object.entries(part)) {
      const before = Object.hasOwn(merged, name) ? merged[name] : undefined;
      if (before === undefined || isAnnotation(name)) define(merged, name, value);
      else if (name === "properties" && isObject(before) && isObject(value)) {
        const both = Object.keys(value).filter((each) => Object.hasOwn(before, each));
        if (both.some((each) => !isSame(before[each], value[each]))) return schema;
        merged[name] = { ...before, ...value };
      } else if (name === "required" && Array.isArray(before) && Array.isArray(value))
        merged[name] = [...new Set([...before, ...value])];
      else if (!isSame(before, value)) return schema;
    }
  return merged;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Defines a member, which may be called __proto__. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}
