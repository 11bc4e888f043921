// The keywords of JSON Schema 2020-12, and of OpenAPI 3.0's dialect: each becomes rules for values.

import { isObject, type Json } from "../json/json-values.ts";
import { isFreeFormat, numberFormat, textFormat } from "./formats.ts";
import {
  addContains,
  addCount,
  addDependentRequired,
  addItems,
  addProperties,
  addPropertyNames,
  addRequired,
  addUnevaluated,
  addUniqueItems,
} from "./member-keywords.ts";
import { type Finding, Keywords, type Node, type Schemas } from "./node.ts";
import { alternativesPhrase, shortened } from "./phrases.ts";
import { fromVersion30, isAnnotation } from "./restrictions.ts";
import { Work } from "./schema-check.ts";
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
  if (!isObject(value)) throw place.error("a schema must be an object");
  const schema = place.isVersion30 ? fromVersion30(value) : value;
  node.keywords = schema;
  for (const name of Object.keys(schema)) {
    if (name === "$dynamicRef" || name.startsWith("$recursive"))
      throw place.own(name).error(`the keyword ${name} is not supported`);
    if (!checkedKeywords.includes(name) && !isAnnotation(name))
      place.note(`the keyword "${name}" is not known, and not checked`);
  }
  if (place.isVersion30) node.isNullable = new Keywords(node, value, reader).flag("nullable");
  const keywords = new Keywords(node, schema, reader);
  for (const [names, add] of checks) if (names.some((name) => Object.hasOwn(schema, name))) add(keywords);
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
    parts.unshift(keywords.use(reader.node(reader.referenced(node.place))));
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
  const schemas = reader.discriminated(node.place);
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
