// Compiles the keywords of JSON Schema 2020-12, and of OpenAPI 3.0's dialect, to rules for values.

import { Work } from "../../contract/schema-check.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { type ContractError, contractErrorOf, type Place } from "../document/place.ts";
import { hiddenNames } from "./directions.ts";
import { isFreeFormat, numberFormat, textFormat } from "./formats.ts";
import { type Finding, Keywords, type Node, type Run, type Schemas } from "./node.ts";
import type { TextPattern } from "./patterns.ts";
import { alternativesPhrase, countPhrase, shortened } from "./phrases.ts";
import { fromVersion30, isAnnotation } from "./restrictions.ts";
import { compareNumbers, hasLength, isIntegral, isMultiple, kindOf, kinds, ValueSet } from "./values.ts";

/** Compiles a schema, or keeps why it cannot be used. */
export function compile(node: Node, reader: Schemas): void {
  try {
    addKeywords(node, reader);
  } catch (error) {
    // Thrown for each schema that leads here, as others of the description can be served.
    node.problem = error;
  }
}

function addKeywords(node: Node, reader: Schemas): void {
  const { place } = node;
  const { value } = place;
  if (value === true) return;
  if (value === false) {
    node.add(kinds, (_: never, run) => run.find(() => "left out"));
    return;
  }
  if (!isObject(value)) {
    refuse(place, place.error("a schema must be an object"));
    return;
  }
  const schema = place.isVersion30 ? fromVersion30(value) : value;
  node.keywords = schema;
  for (const name of Object.keys(schema)) {
    if (name === "$dynamicRef" || name.startsWith("$recursive"))
      refuse(place, place.own(name).error(`the keyword ${name} is not supported`));
    if (!checkedKeywords.includes(name) && !isAnnotation(name))
      place.note(`the keyword "${name}" is not known, and not checked`);
  }
  const own = hiddenNames(place, reader.direction);
  if (own.size > 0) node.hidden = new Set([...node.hidden, ...own]);
  if (place.isVersion30) node.isNullable = new Keywords(node, value, reader).flag("nullable");
  const keywords = new Keywords(node, schema, reader);
  for (const [names, add] of checks)
    if (names.some((name) => Object.hasOwn(schema, name)) && !notingFaults(place, () => add(keywords)))
      node.keywords = withoutMembers(node.keywords, names);
}

/** Adds a check. Where the description is read as far as it can be, a fault of it is a note: false. */
function notingFaults(place: Place, add: () => void): boolean {
  try {
    add();
    return true;
  } catch (error) {
    refuse(place, contractErrorOf(error));
    return false;
  }
}

function refuse(place: Place, error: ContractError): void {
  if (!place.isLenient) throw error;
  place.noteUnchecked(error);
}

/** Messages say nothing of keywords that are not checked, whose values may be of any kind. */
function withoutMembers(schema: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
}

/** The keywords that are checked, in the order in which faults are looked for. */
const checks: readonly (readonly [names: readonly string[], add: (keywords: Keywords) => void])[] = [
  [["type"], addType],
  [["enum", "const"], addValues],
  [["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"], addLimits],
  [["multipleOf"], addMultipleOf],
  [["format"], addFormat],
  [["minLength", "maxLength"], addLength],
  [["pattern"], addPattern],
  [["minItems", "maxItems"], (keywords) => addCount(keywords, "array", ["minItems", "maxItems"], "item")],
  [
    ["minProperties", "maxProperties"],
    (keywords) => addCount(keywords, "object", ["minProperties", "maxProperties"], "member"),
  ],
  [["required"], addRequired],
  [["dependentRequired"], addDependentRequired],
  [["$ref", "allOf"], addParts],
  [["discriminator"], addDiscriminator],
  [["propertyNames"], addPropertyNames],
  [["properties", "patternProperties", "additionalProperties"], addProperties],
  [["prefixItems", "items"], addItems],
  [["contains", "minContains", "maxContains"], addContains],
  [["uniqueItems"], addUniqueItems],
  [["dependentSchemas"], addDependentSchemas],
  [["anyOf"], (keywords) => addAlternatives(keywords, "anyOf")],
  [["oneOf"], (keywords) => addAlternatives(keywords, "oneOf")],
  [["not"], addNot],
  [["if", "then", "else"], addIf],
  [["unevaluatedProperties"], (keywords) => addUnevaluated(keywords, "object", "unevaluatedProperties")],
  [["unevaluatedItems"], (keywords) => addUnevaluated(keywords, "array", "unevaluatedItems")],
];

/** Keywords that are checked. A discriminator is only where there is no oneOf and no anyOf. */
export const checkedKeywords: readonly string[] = checks.flatMap(([names]) => names);

const typeNames: readonly unknown[] = [...kinds, "integer"];

function addType(keywords: Keywords): void {
  const types = [keywords.value("type")].flat();
  if (types.length === 0 || !types.every((type) => typeNames.includes(type)))
    throw keywords.wrong("type", `one of ${typeNames.join(", ")}, or an array of them`);
  keywords.node.types = new Set(types as string[]);
}

function addValues(keywords: Keywords): void {
  const { node } = keywords;
  for (const values of [
    keywords.array("enum"),
    keywords.value("const") === undefined ? undefined : [keywords.value("const")],
  ]) {
    if (values === undefined) continue;
    const accepted = new ValueSet();
    const unlimited = new Work(Number.POSITIVE_INFINITY);
    for (const [index, value] of values.entries()) accepted.add(value, index, unlimited);
    node.add(kinds, (value: unknown, run) =>
      accepted.has(value, run.work) ? undefined : run.find(() => node.phrase(kindOf(value))),
    );
  }
}

function addLimits(keywords: Keywords): void {
  const { node } = keywords;
  const limits = [
    ["minimum", (order: number) => order >= 0],
    ["exclusiveMinimum", (order: number) => order > 0],
    ["maximum", (order: number) => order <= 0],
    ["exclusiveMaximum", (order: number) => order < 0],
  ] as const;
  for (const [name, accepts] of limits) {
    const limit = keywords.number(name);
    if (limit !== undefined) node.limit("number", (value) => accepts(compareNumbers(value, limit)));
  }
}

function addMultipleOf(keywords: Keywords): void {
  const divisor = keywords.number("multipleOf");
  if (compareNumbers(divisor, 0) <= 0) throw keywords.wrong("multipleOf", "above 0");
  keywords.node.limit("number", (value) => isMultiple(value, divisor));
}

function addFormat(keywords: Keywords): void {
  const { node } = keywords;
  const format = keywords.text("format");
  const [text, range] = [textFormat(format), numberFormat(format)];
  if (text !== undefined && node.admits("string"))
    node.limit("string", (value: string, work) => {
      work.spend(6 + (value.length >> 4));
      return text.accepts(value);
    });
  else if (range !== undefined && node.admits("number"))
    node.limit(
      "number",
      (value) =>
        (!range.isInteger || isIntegral(value)) &&
        compareNumbers(value, range.minimum) >= 0 &&
        compareNumbers(value, range.maximum) <= 0,
    );
  else if (!isFreeFormat(format)) node.place.note(`the format ${format} is not checked`);
}

function addLength(keywords: Keywords): void {
  const [least = 0, most = Number.POSITIVE_INFINITY] = [
    keywords.count("minLength"),
    keywords.count("maxLength"),
  ];
  keywords.node.limit("string", (value: string, work) => {
    work.spend(value.length >> 3);
    return hasLength(value, least, most);
  });
}

function addPattern(keywords: Keywords): void {
  const pattern = keywords.pattern(keywords.text("pattern") as string, "pattern");
  keywords.node.limit("string", (value: string, work) => pattern.matches(value, work));
}

function addParts(keywords: Keywords): void {
  const { node, reader } = keywords;
  const parts = [...keywords.appliedAll("allOf")];
  if (keywords.value("$ref") !== undefined)
    parts.unshift(keywords.use(reader.node(reader.referenced(node.place), node.hidden)));
  node.parts.push(...parts);
  node.add(kinds, (value: unknown, run, evaluated) => {
    for (const part of parts) {
      const found = run.apply(part, value, evaluated);
      if (found !== undefined) return found;
    }
    return undefined;
  });
}

function addDiscriminator(keywords: Keywords): void {
  const { node, reader } = keywords;
  const discriminator = keywords.value("discriminator");
  if (!isObject(discriminator) || typeof discriminator.propertyName !== "string")
    throw keywords.wrong("discriminator", "an object with a propertyName");
  // There it names one of the alternatives, which are tried anyway.
  if (keywords.value("oneOf") !== undefined || keywords.value("anyOf") !== undefined) return;
  const name = discriminator.propertyName;
  const schemas = reader.discriminated(node);
  if (schemas.size === 0) return;
  const expected = `one of ${shortened([...schemas.keys()])}`;
  node.children.push(...schemas.values());
  node.add(["object"], (value: Json, run, evaluated) => {
    if (!Object.hasOwn(value, name)) return undefined;
    const schema = schemas.get(String(value[name]));
    if (schema === undefined) return run.find(() => expected, name);
    return schema === node ? undefined : run.applyOnce(schema, value, evaluated);
  });
}

function addDependentSchemas(keywords: Keywords): void {
  for (const [name] of keywords.entries("dependentSchemas")) {
    const schema = keywords.applied("dependentSchemas", name);
    keywords.node.add(["object"], (value: object, run, evaluated) =>
      Object.hasOwn(value, name) ? run.apply(schema, value, evaluated) : undefined,
    );
  }
}

/** Adds the rule that some of several schemas accept the value. */
function addAlternatives(keywords: Keywords, name: "anyOf" | "oneOf"): void {
  const alternatives = keywords.appliedAll(name);
  keywords.node.alternatives = alternatives;
  keywords.node.add(kinds, (value: unknown, run, evaluated) => {
    let accepted = 0;
    const findings: Finding[] = [];
    for (const alternative of alternatives) {
      const found = run.try(alternative, value, evaluated);
      if (found === undefined) accepted++;
      else if (alternative.admits(kindOf(value))) findings.push(found);
      if (accepted > 1 && name === "oneOf")
        return run.find(() => "a value that only one schema of its oneOf accepts");
      if (accepted > 0 && name === "anyOf" && evaluated === undefined) return undefined;
    }
    if (accepted > 0) return undefined;
    return findings.length === 1 ? findings[0] : run.find(() => alternativesPhrase(alternatives, "value"));
  });
}

function addNot(keywords: Keywords): void {
  const schema = keywords.applied("not");
  keywords.node.add(kinds, (value: unknown, run) =>
    run.apply(schema, value) === undefined
      ? run.find(() => 'a value that the schema of its "not" does not accept')
      : undefined,
  );
}

function addIf(keywords: Keywords): void {
  const [condition, positive, negative] = ["if", "then", "else"].map((name) =>
    keywords.value(name) === undefined ? undefined : keywords.applied(name),
  );
  if (condition === undefined) return;
  keywords.node.add(kinds, (value: unknown, run, evaluated) => {
    const schema = run.try(condition, value, evaluated) === undefined ? positive : negative;
    return schema === undefined ? undefined : run.apply(schema, value, evaluated);
  });
}

/** An object or array. */
type Objects = Readonly<Record<string | number, unknown>>;

/** Adds the limits of a number of items or members. */
function addCount(
  keywords: Keywords,
  kind: "array" | "object",
  names: readonly [string, string],
  unit: string,
): void {
  const [least, most] = names.map((name) => keywords.count(name));
  const expected = `an ${kind} ${countPhrase(least, most, unit)}`;
  keywords.node.add([kind], (value: object, run) => {
    const count = Array.isArray(value) ? value.length : namesOf(value, keywords).length;
    run.work.spend(Array.isArray(value) ? 0 : count);
    return count >= (least ?? 0) && count <= (most ?? count) ? undefined : run.find(() => expected);
  });
}

/** The members of an object that are checked: what clients cannot set is not taken from a request. */
function namesOf(value: object, { node }: Keywords): readonly string[] {
  const names = Object.keys(value);
  return node.hidden.size === 0 ? names : names.filter((name) => !node.hidden.has(name));
}

function findMissing(names: readonly string[], value: object, run: Run): Finding | undefined {
  run.work.spend(names.length);
  const missing = names.find((name) => !Object.hasOwn(value, name));
  return missing === undefined
    ? undefined
    : run.find(() => `an object with the member ${JSON.stringify(missing)}`);
}

/** A member that must not be there. */
function findSurplus(member: string | number, run: Run): Finding {
  if (typeof member === "number") return run.find(() => `an array ${countPhrase(undefined, member, "item")}`);
  const shown = member.length > 40 ? `${member.slice(0, 40)}…` : member;
  return run.find(() => `an object without the member ${JSON.stringify(shown)}`);
}

/** Applies a schema to a member, which `false` does not allow. */
function findIn(schema: Node, value: Objects, member: string | number, run: Run): Finding | undefined {
  return schema.isFalse ? findSurplus(member, run) : run.applyTo(schema, value[member], member);
}

function addRequired(keywords: Keywords): void {
  const { node, reader } = keywords;
  const hidden = new Set([
    ...node.hidden,
    ...hiddenNames(node.place, reader.direction, ["allOf", "anyOf", "oneOf"]),
  ]);
  const names = keywords.names(keywords.value("required"), "required").filter((name) => !hidden.has(name));
  node.add(["object"], (value: object, run) => findMissing(names, value, run));
}

function addDependentRequired(keywords: Keywords): void {
  for (const [name, value] of keywords.entries("dependentRequired")) {
    const names = keywords.names(value, "dependentRequired");
    keywords.node.add(["object"], (object: object, run) =>
      Object.hasOwn(object, name) ? findMissing(names, object, run) : undefined,
    );
  }
}

function addPropertyNames(keywords: Keywords): void {
  const names = keywords.schemaAt("propertyNames");
  keywords.node.add(["object"], (value: object, run) => {
    for (const name of namesOf(value, keywords)) {
      const found = run.apply(names, name);
      if (found !== undefined) return findSurplus(name, run);
    }
    return undefined;
  });
}

function addProperties(keywords: Keywords): void {
  const properties = new Map(keywords.schemas("properties"));
  const patterns: (readonly [TextPattern, Node])[] = [];
  for (const [name, schema] of keywords.schemas("patternProperties"))
    notingFaults(keywords.node.place, () => {
      patterns.push([keywords.pattern(name, "patternProperties", name), schema]);
    });
  const additional = keywords.below("additionalProperties");
  const { node, reader } = keywords;
  node.add(["object"], (value: Objects, run, evaluated) => {
    for (const [name, schema] of properties) {
      run.work.spend(1);
      if (!Object.hasOwn(value, name)) continue;
      if (node.hidden.has(name)) {
        if (reader.direction === "response") return findSurplus(name, run);
        continue;
      }
      evaluated?.add(name);
      const found = findIn(schema, value, name, run);
      if (found !== undefined) return found;
    }
    if (patterns.length === 0 && additional === undefined) return undefined;
    const names = namesOf(value, keywords);
    run.work.spend(names.length * (evaluated === undefined ? 1 : 3));
    for (const name of names) {
      let isKnown = properties.has(name);
      for (const [pattern, schema] of patterns) {
        if (!pattern.matches(name, run.work)) continue;
        isKnown = true;
        evaluated?.add(name);
        const found = findIn(schema, value, name, run);
        if (found !== undefined) return found;
      }
      if (isKnown || additional === undefined) continue;
      evaluated?.add(name);
      const found = findIn(additional, value, name, run);
      if (found !== undefined) return found;
    }
    return undefined;
  });
}

function addItems(keywords: Keywords): void {
  const first = (keywords.array("prefixItems") ?? []).map((_, index) =>
    keywords.schemaAt("prefixItems", String(index)),
  );
  if (Array.isArray(keywords.value("items")))
    throw keywords.wrong("items", "a schema; a list of them is prefixItems");
  const rest = keywords.below("items");
  keywords.node.add(["array"], (value: Objects & readonly unknown[], run, evaluated) => {
    const count = rest === undefined ? Math.min(first.length, value.length) : value.length;
    for (let index = 0; index < count; index++) {
      const schema = first[index] ?? (rest as Node);
      evaluated?.add(index);
      const found = findIn(schema, value, index, run);
      if (found !== undefined) return found;
    }
    return undefined;
  });
}

function addContains(keywords: Keywords): void {
  const schema = keywords.below("contains");
  const least = keywords.count("minContains") ?? 1;
  const most = keywords.count("maxContains");
  if (schema === undefined) return;
  const range = least === 0 && most === undefined ? "" : countPhrase(least, most, "item").replace(/^of /, "");
  keywords.node.add(["array"], (value: readonly unknown[], run, evaluated) => {
    let count = 0;
    for (let index = 0; index < value.length; index++) {
      if (run.applyTo(schema, value[index], index) !== undefined) continue;
      evaluated?.add(index);
      count++;
    }
    if (count >= least && count <= (most ?? count)) return undefined;
    return run.find(() => `an array with ${range} that its "contains" accepts`);
  });
}

function addUniqueItems(keywords: Keywords): void {
  if (!keywords.flag("uniqueItems")) return;
  keywords.node.add(["array"], (value: readonly unknown[], run) => {
    const seen = new ValueSet();
    for (let index = 0; index < value.length; index++) {
      // A map grows in some 200 ns.
      run.work.spend(2);
      const before = seen.add(value[index], index, run.work);
      if (before !== undefined)
        return run.find(() => `an array without equal items, such as those at ${before} and ${index}`);
    }
    return undefined;
  });
}

function addUnevaluated(keywords: Keywords, kind: "array" | "object", name: string): void {
  const { node } = keywords;
  const schema = keywords.schemaAt(name);
  node.asksEvaluated = true;
  node.add([kind], (value: Objects, run, evaluated) => {
    for (const member of Array.isArray(value) ? value.keys() : namesOf(value, keywords)) {
      run.work.spend(1);
      if (evaluated?.has(member)) continue;
      evaluated?.add(member);
      const found = findIn(schema, value, member, run);
      if (found !== undefined) return found;
    }
    return undefined;
  });
}
