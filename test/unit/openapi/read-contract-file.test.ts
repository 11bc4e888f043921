// Files of descriptions in other encodings than UTF-8, and versions without quotes.

import { expect, test } from "bun:test";
import { truncateSync, writeFileSync } from "node:fs";
import { readContractFile } from "../../../src/openapi/files/read-contract-file.ts";
import { readSingle } from "../../support/contracts.ts";
import { thingsDocument } from "../../support/descriptions.ts";
import { TemporaryFolder } from "../../support/server.ts";

const text = JSON.stringify({ ...thingsDocument({}), info: { title: "Größe", version: "1" } });

test("a file in UTF-16 is read, and one in another encoding says what to do", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("things.json");
  const little = Buffer.from(`\ufeff${text}`, "utf16le");
  for (const bytes of [
    Buffer.from(text),
    Buffer.from(`\ufeff${text}`),
    little,
    Buffer.from(little).swap16(),
  ]) {
    writeFileSync(file, bytes);
    expect((await readSingle(await readContractFile(file))).service).toBe("Größe");
  }
  writeFileSync(file, Buffer.from(text, "latin1"));
  const refusal = await readContractFile(file).catch((error: Error) => error.message);
  expect(refusal).toContain(
    `the contract ${file} is neither UTF-8 nor UTF-16; convert it, such as with "iconv -f WINDOWS-1252`,
  );
});

test("a file that is no description is not read whole", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plants.db");
  writeFileSync(file, "");
  truncateSync(file, 2 ** 40);
  const refusal = await readContractFile(file).catch((error: Error) => error.message);
  expect(refusal).toBe(`the contract ${file} has more than 100663296 bytes; is it the right file?`);
});

test.each(["3.0", "3.1", '"3.0"', "3.0.3"])("the version %s is read as it is meant", async (version) => {
  const { openapi: _, ...document } = thingsDocument({});
  const members = Object.entries(document).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  const contract = await readSingle({ text: `openapi: ${version}\n${members.join("")}` });
  expect(contract.document.openapi).toBe(version.replaceAll('"', ""));
});
