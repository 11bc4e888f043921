// Arbitrary plants for property tests.

import fc from "fast-check";
import { type NewPlant, type OptionalField, optionalFields } from "../../src/core/contract/plant.ts";

// Full Unicode scalar values, with those over-represented that text handling gets wrong.
const unit = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 1 }).filter((text) => text !== "\0"),
  fc.constantFrom(
    "\ufeff",
    "\ufffd",
    "\u0001",
    "\u007f",
    "\u0080",
    "\u00e9",
    "\u{10ffff}",
    '"',
    "\\",
    "\n",
    "=",
    "\u2028",
  ),
);

const anyText = fc.array(unit, { maxLength: 30 }).map((units) => units.join(""));

export const anyInt64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 0n, 2n ** 53n + 1n, 2n ** 51n + 1n, -(2n ** 52n) - 1n),
);

const anyOptionalTexts = Object.fromEntries(optionalFields.map((field) => [field, anyText])) as Record<
  OptionalField,
  fc.Arbitrary<string>
>;

/** Any plant that the contract accepts. */
export const anyNewPlant: fc.Arbitrary<NewPlant> = fc.record(
  { id: anyInt64, name: anyText, ...anyOptionalTexts },
  { requiredKeys: ["id", "name"] },
);
