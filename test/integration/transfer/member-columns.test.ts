// CSV of spreadsheets: columns such as address.city are members of objects, and booleans are written in
// several ways.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { contractFile } from "../../support/contract-sandbox.ts";
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
