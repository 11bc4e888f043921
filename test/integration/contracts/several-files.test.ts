// A contract in several files: those in its folder are read, the store keeps one text of all, and
// numbers keep their digits.

import { expect, test } from "bun:test";
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { parseExactJson, toExactJson } from "../../../src/json/exact-json.ts";
import { readContractFile } from "../../../src/openapi/files/read-contract-file.ts";
import { contractFile, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { readSingle } from "../../support/contracts.ts";
import { objectOf, thingsDocument } from "../../support/descriptions.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

/** A copy of the description, in a folder below another one. */
function shipments() {
  const folder = new TemporaryFolder();
  cpSync(contractFile("shipments"), folder.file("api"), { recursive: true });
  const file = folder.file("api/openapi.yaml");
  return {
    folder,
    file,
    /** Lets the weight be what a reference leads to. */
    refer: async (reference: string) => {
      const text = await Bun.file(file).text();
      const [before, after] = text.split(/(?<=Weight:\n).*$/s) as [string, string];
      writeFileSync(file, `${before}      $ref: ${JSON.stringify(reference)}\n${after}`);
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** What a shipment must be, past 2^53, where a double is another number. */
async function expectExactShipments(request: (body: string) => Promise<{ status: number }>) {
  const holds = '{"label":"a","boxes":[{"label":"b","after":{"id":2,"weight":9007199254740993}}]}';
  const statuses = new Map([
    [`{"id":1,"weight":9007199254740993,"price":12345678901234567.89,"holds":${holds}}`, 200],
    ['{"id":2,"weight":9007199254740992}', 400],
    ['{"id":3,"weight":9007199254740993,"price":12345678901234567.9}', 400],
    [`{"id":4,"weight":9007199254740993,"holds":${holds.replace("993", "992")}}`, 400],
    ['{"id":5,"weight":9007199254740993,"holds":{"label":"a","boxes":[{}]}}', 400],
  ]);
  for (const [body, status] of statuses) expect([body, (await request(body)).status]).toEqual([body, status]);
}

test("it is served with exact numbers, and the store starts again without the files", async () => {
  using description = shipments();
  const database = `sqlite:${description.folder.file("shipments.db")}`;
  let token: string;
  {
    const args = ["--contract", description.file];
    await using server = await RunningServer.startInProcess({ database, args });
    token = await server.createToken();
    await expectExactShipments((body) =>
      sendJson(`${server.url}/shipments`, "POST", body, tokenHeaders(token)),
    );
    expect(await server.logged(({ msg }) => msg.includes("colour"))).toMatchObject({
      msg: expect.stringContaining("(at schemas/shipment.json#/properties/note)"),
    });
  }
  {
    const args = ["--contract", description.file];
    await using _ = await RunningServer.startInProcess({ database, args });
  }
  rmSync(description.folder.file("api"), { recursive: true });
  await using server = await RunningServer.startInProcess({ database });
  const get = (path: string) => sendJson(server.url + path, "GET", undefined, tokenHeaders(token));
  expect((await get("/shipments/1")).text).toContain('"price":12345678901234567.89');
  const { text } = await get("/openapi.json");
  expect(text).toMatch(/"minimum": ?9007199254740993\b/);
  const references = [...text.matchAll(/"\$ref": ?"([^"]*)"/g)].map(([, reference]) => reference);
  expect(references.length).toBeGreaterThan(5);
  expect(references.filter((reference) => !reference?.startsWith("#/components/"))).toEqual([]);
});

for (const [what, reference] of [
  ["a file outside the folder", "../outside.json"],
  ["the same with a percent-encoded path", "%2e%2e/outside.json"],
  ["a symbolic link to the outside", "link.json"],
  ["a file in a folder that is a link", "linked/outside.json"],
  ["an absolute path", contractFile("shipments/schemas/shipment.json")],
  ["a URL", "http://127.0.0.1:1/weight.json"],
  ["a URL of a file", `file://${contractFile("shipments/schemas/shipment.json")}`],
  ["a file that is missing", "missing.json"],
  ["a folder", "schemas"],
  ["a member that is missing", "schemas/shipment.json#/properties/colour"],
] as const)
  test(`${what} is not read: one sentence names the reference and the command that bundles`, async () => {
    using description = shipments();
    const { folder, file, refer } = description;
    writeFileSync(folder.file("outside.json"), '{ "type": "integer" }');
    symlinkSync(folder.file("outside.json"), folder.file("api/link.json"));
    symlinkSync(folder.path, folder.file("api/linked"));
    await refer(reference);
    expect(await settled(readContractFile(file).then(readSingle))).toThrow(
      `the contract cannot be served: the reference ${reference} leads to nothing in the folder ` +
        "of the contract or below it; npx @redocly/cli bundle FILE -o bundled.yaml puts all files into one " +
        "(at /components/schemas/Weight)",
    );
  });

test("a part that is elsewhere and is not needed costs that part only", async () => {
  using description = shipments();
  const paths = description.folder.file("api/paths/shipments.yaml");
  const text = await Bun.file(paths).text();
  writeFileSync(
    paths,
    text.replace("items:\n              $ref: ../schemas", "items:\n              $ref: ../../schemas"),
  );
  const contract = await readSingle(await readContractFile(description.file));
  expect(Object.keys(contract.operations)).toEqual(["create", "get"]);
  expect(contract.notes.join("\n")).toContain(
    "the reference ../../schemas/shipment.json leads to nothing in the folder",
  );
  expect(contract.notes.join("\n")).toMatch(/with 501 \(at paths\/shipments\.yaml#\/get\)/);
});

test("a file that is neither JSON nor YAML is named with its line", async () => {
  using description = shipments();
  writeFileSync(description.folder.file("api/schemas/shipment.json"), '{\n  "type": \n');
  expect(await settled(readContractFile(description.file))).toThrow(
    /schemas\/shipment\.json cannot be read: it is neither JSON nor YAML: .* at line \d+/,
  );
});

test("links within the folder are followed, as in a mounted volume", async () => {
  using folder = new TemporaryFolder();
  cpSync(contractFile("shipments"), folder.file("..data"), { recursive: true });
  for (const name of ["openapi.yaml", "paths", "schemas"]) symlinkSync(`..data/${name}`, folder.file(name));
  const { path } = await readSingle(await readContractFile(folder.file("openapi.yaml")));
  expect(path).toBe("/shipments");
});

test("a file that refers to itself is a cycle, also where it is a component", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("thing.yaml"), "$ref: thing.yaml\n");
  const document = thingsDocument({
    body: { $ref: "#/components/schemas/Thing" },
    schemas: { Thing: { $ref: "thing.yaml" } },
  });
  writeFileSync(folder.file("openapi.json"), JSON.stringify(document));
  const read = readContractFile(folder.file("openapi.json")).then(readSingle);
  expect(await settled(read)).toThrow(/the reference #\/components\/schemas\/Thing is a cycle/);
});

test("a file may refer to itself by its own name", async () => {
  using folder = new TemporaryFolder();
  const document = thingsDocument({
    body: { $ref: "openapi.json#/components/schemas/Thing" },
    response: { $ref: "./openapi.json#/components/schemas/Thing" },
    schemas: { Thing: objectOf({ id: { type: "integer" }, name: { type: "string" } }) },
  });
  writeFileSync(folder.file("openapi.json"), JSON.stringify(document));
  const { fields } = await readSingle(await readContractFile(folder.file("openapi.json")));
  expect(fields.map(({ name }) => name)).toEqual(["name"]);
});

test("a description in one file is kept as it is, and so is one that refers to nothing it can read", async () => {
  using folder = new TemporaryFolder();
  const text = await Bun.file(contractFile("parcels.yaml")).text();
  const other = `${text}\nx-other: { $ref: other.yaml }\n`;
  for (const each of [text, other]) {
    writeFileSync(folder.file("parcels.yaml"), each);
    expect(await readContractFile(folder.file("parcels.yaml"))).toEqual({
      text: each,
    });
  }
});

test("components keep their names, those of other files get new ones, and mappings follow", async () => {
  using folder = new TemporaryFolder();
  const files = {
    "openapi.yaml": {
      openapi: "3.1.0",
      info: { title: "Pets", description: { $ref: "about.md" } },
      paths: {
        "/pets": {
          parameters: [{ $ref: "parameters.yaml#/tag~1name" }],
          post: { requestBody: { content: { "application/json": { schema: { $ref: "other/pet.yaml" } } } } },
          $ref: "paths.yaml",
        },
      },
      components: { schemas: { $ref: "schemas/index.yaml" } },
    },
    "about.md": "# Pets: all of them",
    "paths.yaml": { get: { parameters: [{ $ref: "parameters.yaml#/tag~1name" }, { $ref: "#/gone" }] } },
    "parameters.yaml": { "tag/name": { name: "tag", in: "query", schema: { const: 2n ** 63n } } },
    "schemas/index.yaml": { pet: { $ref: "pet.yaml" }, any: true },
    "schemas/pet.yaml": {
      discriminator: { propertyName: "kind", mapping: { cat: "cat.yaml", dog: "#/$defs/Dog", fish: "Fish" } },
      $defs: { Dog: { properties: { example: { $ref: "pet.yaml" }, $ref: { type: "string" } } } },
    },
    "schemas/cat.yaml": { title: "Cat" },
    "other/pet.yaml": { allOf: [{ $ref: "../schemas/pet.yaml" }, { $ref: "#" }] },
  };
  for (const [name, value] of Object.entries(files))
    await Bun.write(folder.file(name), typeof value === "string" ? value : toExactJson(value));
  const { text, origins } = await readContractFile(folder.file("openapi.yaml"));
  const dog = { properties: { example: { $ref: "#/components/schemas/pet" }, $ref: { type: "string" } } };
  const parameters = [{ $ref: "#/components/parameters/tag_name" }];
  expect(parseExactJson(text)).toEqual({
    openapi: "3.1.0",
    info: { title: "Pets", description: "# Pets: all of them" },
    paths: {
      "/pets": {
        get: { parameters: [...parameters, { $ref: "paths.yaml#/gone" }] },
        parameters,
        post: {
          requestBody: {
            content: { "application/json": { schema: { $ref: "#/components/schemas/pet-2" } } },
          },
        },
      },
    },
    components: {
      schemas: {
        pet: {
          discriminator: {
            propertyName: "kind",
            mapping: { cat: "#/components/schemas/cat", dog: "#/components/schemas/Dog", fish: "Fish" },
          },
          $defs: { Dog: dog },
        },
        any: true,
        "pet-2": { allOf: [{ $ref: "#/components/schemas/pet" }, { $ref: "#/components/schemas/pet-2" }] },
        cat: { title: "Cat" },
        Dog: dog,
      },
      parameters: { tag_name: { name: "tag", in: "query", schema: { const: 2n ** 63n } } },
    },
  });
  expect(Object.fromEntries(origins ?? [])).toMatchObject({
    "/paths/~1pets": "paths.yaml#",
    "/paths/~1pets/post": "/paths/~1pets/post",
    "/components/parameters/tag_name": "parameters.yaml#/tag~1name",
    "/components/schemas/pet-2": "other/pet.yaml#",
  });
});

test("parts that are no components grow to a limit", async () => {
  using description = shipments();
  const doubled = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [at, [{ $ref: `#/${at + 1}` }, { $ref: `#/${at + 1}` }]]),
  );
  writeFileSync(description.folder.file("api/doubled.json"), JSON.stringify({ ...doubled, 30: 1 }));
  writeFileSync(
    description.file,
    `${await Bun.file(description.file).text()}\nx-all: { $ref: doubled.json#/0 }\n`,
  );
  expect(await settled(readContractFile(description.file))).toThrow(
    "its files make more than 1000000 values",
  );
});

test("all files together are limited", async () => {
  using description = shipments();
  mkdirSync(description.folder.file("api/large"));
  for (const name of ["one", "two", "three"])
    writeFileSync(
      description.folder.file(`api/large/${name}.json`),
      JSON.stringify({ description: "a".repeat(12 * 2 ** 20) }),
    );
  const [base] = (await Bun.file(description.file).text()).split("components:");
  writeFileSync(
    description.file,
    `${base}x-large: [{ $ref: large/one.json }, { $ref: large/two.json }, { $ref: large/three.json }]\n`,
  );
  const { text } = await readContractFile(description.file);
  expect(text.match(/large\/\w+\.json/g)).toHaveLength(1);
});
