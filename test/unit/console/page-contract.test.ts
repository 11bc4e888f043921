// The part of the contract that the console's page gets.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { pageContract } from "../../../src/console/page-contract.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { settled } from "../../support/settled.ts";

const text = await Bun.file(join(import.meta.dir, "../../contracts/hotel.yaml")).text();
const fieldsOf = async (source: string, name: string) => {
  const { collections } = pageContract(await readContract({ text: source }));
  const fields = collections.find((each) => each.name === name)?.fields ?? [];
  return new Map(fields.map((field) => [field.name, field]));
};

test("a field named after a collection has its ids, and so has one whose schema says so", async () => {
  const bookings = await fieldsOf(text, "bookings");
  expect([...bookings].map(([name, { references }]) => [name, references])).toContainEqual([
    "room_id",
    "rooms",
  ]);
  expect(bookings.get("guest_id")?.references).toBe("guests");
  expect(bookings.get("note")?.references).toBe("");
  const said = (name: string) =>
    text.replace(
      "note: { type: [string, 'null'], maxLength: 500 }\n        extras",
      `note: { type: string, x-plantstore-references: ${name} }\n        extras`,
    );
  expect((await fieldsOf(said("guests"), "bookings")).get("note")?.references).toBe("guests");
  expect(await settled(readContract({ text: said("gusts") }))).toThrow(
    'x-plantstore-references of "note" must name a collection with ids of its type, but is "gusts"',
  );
});

test("a form gets defaults, date pickers, and no examples that were made up", async () => {
  const guests = await fieldsOf(text, "guests");
  expect(guests.get("vip")).toMatchObject({ default: "false", isDate: false });
  expect(guests.get("born")).toMatchObject({ default: "", isDate: true });
  expect(guests.get("name")?.hint).toBe("A string of 1 to 120 characters");
  expect((await fieldsOf(text, "rooms")).get("number")?.hint).toContain("such as 101");
});
