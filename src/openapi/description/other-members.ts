// Reads the members of a resource that no property names: those that additionalProperties or
// patternProperties describe. They are one more field, whose value is an object of them.

import type { Field } from "../../contract/contract.ts";
import { type Fault, type SchemaCheck, Work } from "../../contract/schema-check.ts";
import { compactJson, type FieldType, json, restricted } from "../../contract/stored-types.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { filterJson, pickMembers } from "../../json/json-filter.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import type { Place } from "../document/place.ts";
import { filterOf } from "../schema/directions.ts";
import { restrictionsText } from "../schema/restrictions.ts";
import type { ObjectSchema } from "./body-schema.ts";
import { checkOf } from "./checks.ts";
import { expandSchema } from "./expanded-schema.ts";
import { namesOfField } from "./sql-names.ts";

/** The part of a schema that describes members by other means than their names. */
interface Part {
  readonly patterns: readonly { matches(name: string, work: Work): boolean; readonly check: SchemaCheck }[];
  /** The check of all others; undefined if they are not described. */
  readonly rest: SchemaCheck | undefined;
}

const expected = "an object of members that no property names";

/**
 * Reads the field of the members that no property names, where the body describes such. Rejects with a
 * ContractError.
 *
 * @param examples of bodies.
 */
export async function readOtherMembers(
  { others, properties }: ObjectSchema,
  idName: string,
  examples: readonly Json[],
): Promise<Field> {
  const known = new Set([...properties.keys(), idName]);
  const parts = await Promise.all(others.map(readPart));
  const matching = (part: Part, name: string, work: Work) =>
    part.patterns.filter((each) => each.matches(name, work));
  const isKept = (name: string, work: Work) =>
    !known.has(name) &&
    parts.some((part) => part.rest !== undefined || matching(part, name, work).length > 0);
  const check: SchemaCheck = {
    expected,
    fault(value, work): Fault | undefined {
      if (!isObject(value)) return { path: [], expected };
      for (const [name, member] of Object.entries(value)) {
        if (!isKept(name, work)) return { path: [name], expected: "left out" };
        for (const part of parts) {
          const found = matching(part, name, work).map((each) => each.check);
          const checks = found.length > 0 ? found : part.rest === undefined ? [] : [part.rest];
          for (const each of checks) {
            const fault = each.fault(member, work);
            if (fault !== undefined) return { ...fault, path: [name, ...fault.path] };
          }
        }
      }
      return undefined;
    },
  };
  const taken = filterOf(others, "request");
  const gather: Field["gather"] = (body, work) => {
    const found = pickMembers(compactJson(body), (name) => isKept(name, work));
    const own = taken === undefined ? found : filterJson(found, taken);
    return own === "{}" ? undefined : own;
  };
  const [example] = examples.flatMap((each) => gather(toExactJson(each), new Work()) ?? []);
  const schema = { type: "object", ...schemaOf(others) };
  return {
    ...namesOfField(unusedName(known)),
    type: restricted(json(expected, taken), check) as FieldType,
    isRequired: false,
    example: example ?? "{}",
    default: undefined,
    fill: undefined,
    schema,
    shown: filterOf(others, "response") ?? true,
    restrictions: restrictionsText(schema),
    isOthers: true,
    gather,
  };
}

/** The keywords that describe the members. */
function schemaOf(others: readonly Place[]): Json {
  const keywords = ["patternProperties", "additionalProperties"];
  const all = others.map((place) => {
    const members = Object.entries(expandSchema(place)).filter(([name]) => keywords.includes(name));
    return Object.fromEntries(members);
  });
  return all.length === 1 ? (all[0] as Json) : { allOf: all };
}

async function readPart(place: Place): Promise<Part> {
  const rest = place.own("additionalProperties");
  const described = place.own("patternProperties").members;
  const { compilePattern, loadPatterns } = await import("../schema/patterns.ts");
  if (described.length > 0) await loadPatterns();
  return {
    patterns: await Promise.all(
      described.map(async ([pattern, each]) => {
        const compiled = compilePattern(pattern);
        const matches = (name: string, work: Work) => compiled.matches(name, work);
        return { matches, check: await checkOf(each) };
      }),
    ),
    rest: isObject(rest.value) ? await checkOf(rest) : undefined,
  };
}

/** The name of the field, which no property has. */
function unusedName(names: ReadonlySet<string>): string {
  let name = "additionalProperties";
  while (names.has(name)) name += "_";
  return name;
}
