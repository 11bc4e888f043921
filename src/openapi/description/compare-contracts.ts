// Decides whether a store of one contract can take over another: what is stored must stay valid.

import type { Collection, Field } from "../../contract/contract.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { ExactNumber } from "../../json/json-values.ts";
import { numberFormat, textFormat } from "../schema/formats.ts";
import { isAnnotation, restrictsAlike } from "../schema/restrictions.ts";

/**
 * The first change of a collection that a store cannot take over, as a sentence with both values; undefined if it
 * can: fields are added or gone, limits are widened, descriptions differ.
 */
export function findRefusedChange(stored: Collection, wanted: Collection): string | undefined {
  const id = findNarrowed(stored.id, wanted.id);
  if (id !== undefined) return id;
  // Without one the limit of bytes is lower.
  if (stored.id.type.kind === "text" && "maxLength" in stored.id.schema && !("maxLength" in wanted.id.schema))
    return `"${wanted.id.name}" would have no maxLength, so that longer ids could not be reached`;
  const [was, becomes] = [stored.body?.schema ?? {}, wanted.body?.schema ?? {}];
  if (wanted.body !== undefined && !restrictsAlike(was, becomes))
    return "its body would be validated by another schema";
  for (const field of wanted.fields) {
    const before = stored.fields.find(({ name }) => name === field.name);
    const isNew = before === undefined || !before.isRequired;
    if (before !== undefined) {
      const narrowed = findNarrowed(before, field);
      if (narrowed !== undefined) return narrowed;
    }
    if (field.isRequired && isNew && field.fill === undefined)
      return `${goneNames(stored, wanted)}"${field.name}" was ${before === undefined ? "no field" : "optional"}, and would be required without a default that can be stored`;
  }
  return undefined;
}

/** Names the fields that are gone: one of them may have a new name. */
function goneNames(stored: Collection, wanted: Collection): string {
  const gone = stored.fields.filter(({ name }) => wanted.fields.every((field) => field.name !== name));
  return gone.length === 0 ? "" : `${gone.map(({ name }) => `"${name}"`).join(", ")} would be gone, and `;
}

type Compared = Pick<Field, "name" | "schema" | "type">;

/** Keywords whose value may become smaller or larger, or be left out. */
const lowerLimits = ["minLength", "minimum", "exclusiveMinimum"];
const upperLimits = ["maxLength", "maximum", "exclusiveMaximum"];
const removable = ["pattern", "format", ...lowerLimits, ...upperLimits];

function findNarrowed(before: Compared, after: Compared): string | undefined {
  const { name } = after;
  const was = (from: string, to: string) => `"${name}" was ${from}, and would be ${to}`;
  if (before.type.input === "json" || after.type.input === "json") {
    return restrictsAlike(before.schema, after.schema)
      ? undefined
      : `"${name}" would be validated by another schema`;
  }
  if (before.type.kind !== after.type.kind) return was(before.type.expected, after.type.expected);
  for (const keyword of new Set([...Object.keys(before.schema), ...Object.keys(after.schema)])) {
    if (isAnnotation(keyword) || keyword === "type") continue;
    const [from, to] = [before.schema[keyword], after.schema[keyword]];
    if (!isWider(keyword, from, to)) return was(before.type.expected, after.type.expected);
  }
  return undefined;
}

function isWider(keyword: string, from: unknown, to: unknown): boolean {
  if (toExactJson(from) === toExactJson(to)) return true;
  if (to === undefined) return removable.includes(keyword) || keyword === "enum";
  if (from === undefined && keyword === "minLength") return to === 0;
  if (keyword === "format" && isFree(to)) return true;
  if (from === undefined) return false;
  if (lowerLimits.includes(keyword)) return isAtMost(to, from);
  if (upperLimits.includes(keyword)) return isAtMost(from, to);
  if (keyword === "enum") return (from as unknown[]).every((value) => (to as unknown[]).includes(value));
  return false;
}

/** Whether a limit is at most another one, exactly. */
function isAtMost(one: unknown, other: unknown): boolean {
  const [low, high] = [one, other].map((limit) =>
    limit instanceof ExactNumber ? Number(limit.text) : limit,
  );
  return (low as number | bigint) <= (high as number | bigint);
}

/** Whether a format restricts nothing. */
function isFree(format: unknown): boolean {
  return textFormat(format) === undefined && (numberFormat(format) === undefined || format === "int64");
}
