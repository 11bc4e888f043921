// Schemas and values at random: what the validator accepts is what ajv accepts, where numbers are safe.

import { expect, test } from "bun:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { Work } from "../../../../src/contract/schema-check.ts";
import { Place } from "../../../../src/openapi/document/place.ts";
import { SchemaReader } from "../../../../src/openapi/schema/schema-reader.ts";
import { accepts, readThings } from "../../../support/descriptions.ts";

// No "__proto__": ajv looks for it in the prototypes of its own objects.
const names = fc.constantFrom("a", "b", "ab", "enum");
const texts = fc.oneof(names, fc.constantFrom("", "🌿", "aaa", "x1", "\u00a0"));
const numbers = fc.oneof(fc.integer({ min: -3, max: 6 }), fc.constantFrom(0.5, 1.5, 2.25, 1000, -0.5));
const counts = fc.integer({ min: 0, max: 3 });
const patterns = fc.constantFrom("^a", "b$", "^(a|b)+$", "^.$", "\\s", "^[^a]*$", "\\p{L}{2}", "^\\S{0,2}$");
const types = fc.constantFrom("null", "boolean", "string", "number", "integer", "array", "object");

const { value } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), texts, numbers),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("object"),
  ),
  object: fc
    .array(fc.tuple(names, tie("value")), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
}));

/** A schema of some keywords, more often true and false where it is nested deeply. */
const { schema } = fc.letrec<{ schema: unknown; keywords: unknown }>((tie) => {
  const schemas = fc.array(tie("schema"), { minLength: 1, maxLength: 3 });
  const map = (keys: fc.Arbitrary<string>, values: fc.Arbitrary<unknown>) =>
    fc.array(fc.tuple(keys, values), { maxLength: 3 }).map((entries) => Object.fromEntries(entries));
  const keyword = fc.oneof(
    fc.tuple(fc.constant("type"), fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 }))),
    fc.tuple(
      fc.constant("enum"),
      fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (each) => JSON.stringify(each) }),
    ),
    fc.tuple(fc.constant("const"), value),
    fc.tuple(fc.constantFrom("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), numbers),
    fc.tuple(fc.constant("multipleOf"), fc.constantFrom(1, 2, 0.5, 1.5)),
    fc.tuple(
      fc.constantFrom("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
      counts,
    ),
    fc.tuple(fc.constant("pattern"), patterns),
    fc.tuple(fc.constant("uniqueItems"), fc.boolean()),
    fc.tuple(fc.constant("required"), fc.uniqueArray(names, { maxLength: 3 })),
    fc.tuple(fc.constant("dependentRequired"), map(names, fc.uniqueArray(names, { maxLength: 2 }))),
    fc.tuple(fc.constantFrom("properties", "dependentSchemas"), map(names, tie("schema"))),
    fc.tuple(fc.constant("patternProperties"), map(patterns, tie("schema"))),
    fc.tuple(
      fc.constantFrom(
        ...["items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"],
        ...["unevaluatedProperties", "unevaluatedItems"],
      ),
      tie("schema"),
    ),
    fc.tuple(fc.constantFrom("minContains", "maxContains"), counts),
    fc.tuple(fc.constantFrom("allOf", "anyOf", "oneOf", "prefixItems"), schemas),
    fc.tuple(fc.constant("$ref"), fc.constantFrom("#/$defs/one", "#/$defs/other")),
  );
  return {
    schema: fc.oneof({ depthSize: "small", withCrossShrink: true }, fc.boolean(), tie("keywords")),
    keywords: fc
      .array(keyword, { minLength: 1, maxLength: 4 })
      .map((entries) => Object.fromEntries(entries))
      // ajv takes all items for evaluated where there is a contains.
      .filter(({ contains, unevaluatedItems }) => contains === undefined || unevaluatedItems === undefined),
  };
});

const $defs = {
  one: { type: ["string", "array", "object"], maxLength: 2, properties: { a: { type: "integer" } } },
  other: { anyOf: [{ items: { $ref: "#/$defs/one" } }, { type: "number" }], not: { type: "string" } },
};

/** Holds verdicts against those of ajv, for schemas and values at random. */
async function holdAgainstAjv(
  runs: number,
  verdictOf: (schema: unknown) => Promise<(value: unknown) => boolean>,
): Promise<void> {
  const ajv = new Ajv2020({ strict: false, ownProperties: true, logger: false, validateSchema: false });
  let accepted = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(schema, fc.array(value, { minLength: 1, maxLength: 8 }), async (root, values) => {
      const whole = typeof root === "boolean" ? root : { ...(root as object), $defs };
      const validate = ajv.compile(whole);
      const accepts = await verdictOf(whole);
      for (const each of values) {
        const expected = validate(each);
        expected ? accepted++ : refused++;
        expect({ each, accepts: accepts(each) }).toEqual({ each, accepts: expected });
      }
    }),
    { numRuns: runs, seed: 20_261_124 },
  );
  // Neither is rare.
  expect(Math.min(accepted, refused)).toBeGreaterThan(runs);
}

test("it accepts what ajv accepts", async () => {
  await holdAgainstAjv(400, async (whole) => {
    const place = Place.root({ openapi: "3.1.0", $defs, schema: whole });
    const check = await new SchemaReader("request").check(place.own("schema"));
    return (each) => check.fault(each, new Work()) === undefined;
  });
});

test("a field accepts what ajv accepts, whatever its type makes of it", async () => {
  await holdAgainstAjv(300, async (whole) => {
    const collection = await readThings({ properties: { f: whole }, more: { $defs } });
    return (each) => accepts(collection, JSON.stringify({ id: 1, f: each }));
  });
});
