// CSV of spreadsheets: columns such as address.city are members of objects, and booleans are written in
// several ways.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { toExactJson } from "../../../src/json/exact-json.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { objectOf, thingsDocument } from "../../support/descriptions.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

test("500 guests with the columns of an address are imported", async () => {
  using folder = new TemporaryFolder();
  await using server = await RunningServer.startInProcess({
    args: ["--contract", contractFile("hotel.yaml")],
  });
  const token = await server.createToken();
  const booleans = ["TRUE", "yes", "1", "FALSE", "No", "0", ""];
  const lines = Array.from({ length: 500 }, (_, index) => {
    const address = index % 5 === 0 ? ",," : `"${index}, Main Street",Oslo ${index},NO`;
    return `Guest ${index},g${index}@example.org,${address},${booleans[index % booleans.length]}`;
  });
  const file = folder.file("guests.csv");
  writeFileSync(file, `name,email,address.street,address.city,address.country,vip\n${lines.join("\n")}\n`);
  const imported = await server.command("import", file, "--collection", "guests");
  expect(imported.exitCode).toBe(0);
  expect(imported.stderr).toContain("500 created");
  expect(imported.stderr).not.toContain("ignored");

  const headers = { Authorization: `Bearer ${token}` };
  const read = async (email: string) => {
    const response = await fetch(`${server.url}/guests?email=${email}`, { headers });
    const { items } = (await response.json()) as { items: object[] };
    return items;
  };
  expect(await read("g1@example.org")).toMatchObject([
    { name: "Guest 1", address: { street: "1, Main Street", city: "Oslo 1", country: "NO" }, vip: true },
  ]);
  expect(await read("g4@example.org")).toMatchObject([{ vip: false }]);
  const [withoutAddress] = await read("g20@example.org");
  expect(withoutAddress).not.toHaveProperty("address");
  expect(await read("g6@example.org")).toMatchObject([{ vip: false }]);

  const wrong = folder.file("wrong.csv");
  writeFileSync(
    wrong,
    "name,email,address.city,vip,adress.country\nAda,ada@example.org,Oslo,constructor,NO\n",
  );
  const refused = await server.command("import", wrong, "--collection", "guests", "--quiet");
  expect(refused.stderr).toContain("1 rejected");
  expect(refused.stderr).toContain('warning: ignored the column "adress.country"');
});

/** Addresses that the columns of their members can express, and others, whose JSON is exported. */
const addresses = [
  { street: "1, Main Street", city: "Oslo", country: "NO" },
  { city: "", country: "NO" },
  { street: "007", city: "true", country: "12" },
  { city: "Oslo", country: "NO", "a.b": 5 },
  { country: "NO", city: "Oslo" },
];

test("an export has a column for each member, and imports as what it was", async () => {
  using folder = new TemporaryFolder();
  const start = () => RunningServer.startInProcess({ args: ["--contract", contractFile("hotel.yaml")] });
  await using server = await start();
  const headers = {
    Authorization: `Bearer ${await server.createToken()}`,
    "Content-Type": "application/json",
  };
  for (const [index, address] of [...addresses, undefined].entries()) {
    const body = JSON.stringify({ name: `Guest ${index}`, email: "ada@example.org", address });
    expect((await fetch(`${server.url}/guests`, { method: "POST", headers, body })).status).toBe(201);
  }
  const exported = (from: RunningServer, format: string) =>
    from.command("export", "--collection", "guests", "--format", format);
  const { stdout } = await exported(server, "csv");
  const [header = "", ...records] = stdout.trimEnd().split("\n");
  expect(header).toBe("id,name,email,phone,born,address.street,address.city,address.country,address,vip");
  expect(records.map((record) => record.replace(/^.*@example.org,,,/, ""))).toEqual([
    '"1, Main Street",Oslo,NO,,false',
    ',"",NO,,false',
    "007,true,12,,false",
    ',,,"{""city"":""Oslo"",""country"":""NO"",""a.b"":5}",false',
    ',,,"{""country"":""NO"",""city"":""Oslo""}",false',
    ",,,,false",
  ]);

  const file = folder.file("guests.csv");
  writeFileSync(file, stdout);
  await using copy = await start();
  expect((await copy.command("import", file, "--collection", "guests")).stderr).toContain("6 created");
  expect((await exported(copy, "ndjson")).stdout).toBe((await exported(server, "ndjson")).stdout);
});

const text = { type: "string" };

async function serverOf(folder: TemporaryFolder, properties: Readonly<Record<string, unknown>>) {
  const contract = folder.file("things.json");
  writeFileSync(contract, toExactJson(thingsDocument({ properties })));
  return RunningServer.startInProcess({ args: ["--contract", contract, "--open"] });
}

test.each([
  [
    { address: objectOf({ "a.b": text, a: objectOf({ b: text }) }) },
    ['"address":{"a.b":"x"}', '"address":{"a.b":"x","a":{"b":"y"}}'],
  ],
  [
    { address: objectOf({ city: text }), "address.city": text },
    ['"address":{"city":"x"}', '"address.city":"y"', '"address":{"city":"x"},"address.city":"y"'],
  ],
  [
    { a: objectOf({ b: objectOf({ c: text }) }), "a.b": objectOf({ c: text }) },
    ['"a":{"b":{"c":"x"}}', '"a.b":{"c":"y"}', '"a":{"b":{"c":"x"}},"a.b":{"c":"y"}'],
  ],
  [{ a: objectOf({ "b ": text, "": text }) }, ['"a":{"b ":"x"}', '"a":{"":"x"}']],
  [{ " a": objectOf({ b: text }), a: objectOf({ b: text }) }, ['" a":{"b":"x"},"a":{"b":"y"}']],
  [{ a: objectOf({ toString: objectOf({ x: text }) }) }, ['"a":{"toString":{"x":"y"}}']],
])(
  "names that columns could mistake for others are exported so that they are read back: %j",
  async (properties, members) => {
    using folder = new TemporaryFolder();
    await using server = await serverOf(folder, properties);
    const records = members.map((each, index) => `{"id":${index},${each}}\n`).join("");
    const [json, csv] = [folder.file("things.ndjson"), folder.file("things.csv")];
    writeFileSync(json, records);
    expect((await server.command("import", json)).stderr).toContain(`${members.length} created`);
    writeFileSync(csv, (await server.command("export", "--format", "csv")).stdout);
    await using copy = await serverOf(folder, properties);
    expect((await copy.command("import", csv)).stderr).toContain(`${members.length} created`);
    expect((await copy.command("export", "--format", "ndjson")).stdout).toBe(records);
  },
);

test("columns of a hostile header are members of their names, refused, or ignored", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverOf(folder, { a: { type: "object" } });
  const file = folder.file("things.csv");
  const imported = async (header: string, cells: string) => {
    writeFileSync(file, `id,${header}\n1,${cells}\n`);
    return (await server.command("import", file)).stderr;
  };
  for (const [header, again] of [
    ["a.b,a.b", "a.b"],
    ["a.b,a.b.c", "a.b.c"],
    ["a.b.c,a.b", "a.b"],
  ] as const)
    expect(await imported(header, "x,y")).toContain(`the header has two columns for ${again};`);
  expect(await imported("a.__proto__.x,a.constructor.x", "y,z")).toContain("1 created");
  expect((await server.command("export")).stdout).toBe(
    '{"id":1,"a":{"__proto__":{"x":"y"},"constructor":{"x":"z"}}}\n',
  );
  expect(({} as { readonly x?: unknown }).x).toBeUndefined();
  expect(await imported(`a${".b".repeat(50_000)}`, "x")).toContain("ignored the column");
});
