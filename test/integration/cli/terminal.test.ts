// The server, and the progress of commands, on a terminal.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { TerminalProgram } from "../../support/output.ts";
import { plantstore, TemporaryFolder } from "../../support/server.ts";
import { StoreFolder } from "../../support/store-folder.ts";

const interrupt = "\x03";

test("a server shows a banner and the first token, a line for each request but those of the documentation page, and its end", async () => {
  using folder = new TemporaryFolder();
  const command = [plantstore, "serve", "--port", "0", "--admin-port", "0"];
  const server = new TerminalProgram(command, { cwd: folder.path });
  const plain = (raw: string) => Bun.stripANSI(raw.replaceAll("\r\n", "\n"));
  const shownWith = (text: string) =>
    server.output.until((raw) => (plain(raw).includes(text) ? plain(raw) : undefined));
  const banner = await shownWith("}'");
  const url = /Interface +(\S+)\/plants\n/.exec(banner)?.[1] ?? "";
  const token = /pst_[\w-]{43}/.exec(banner)?.[0] ?? "";
  const target = { url, token };
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  await post(target, plantJson(1n, "Ficus"));
  const page = await (await fetch(`${url}/`)).text();
  const loaded = [...page.matchAll(/src="([^"]+)"/g)].map(([, path]) => path);
  for (const path of [...loaded, "openapi.json"]) await (await fetch(`${url}/${path}`)).text();
  expect(loaded.length).toBeGreaterThan(0);
  await post({ url, token: "wrong" }, plantJson(1n, "Ficus"));
  await shownWith("40101");
  server.type(interrupt);
  expect(await server.exited).toBe(0);
  const shown = await server.output.ended;
  expect(shown).toContain("\x1b[1mPlant Store");
  const lines = plain(shown)
    .slice(banner.indexOf("}'"))
    .split("\n")
    .map((line) => line.replace(/^(?:\^C)?\d\d:\d\d:\d\d /, "").replace(/ [\d.]+ ms/, ""));
  expect(lines.filter((line) => line !== "").slice(1)).toEqual([
    "POST /plants 200 created token=first",
    "POST /plants 400 40009 token=first: The id 1 already holds a different plant, which is unchanged; choose another id.",
    expect.stringMatching(/^POST \/plants 401 40101: The bearer token is not accepted: /),
    "shutting down, draining requests signal=SIGINT",
    "stopped",
  ]);
  expect(shown).not.toContain("PLANTSTORE_");
});

test("import and export to a file show their progress, unless --quiet", async () => {
  await using store = await StoreFolder.create();
  // An export of 200,000 took less than the 100 ms until the first line on a quiet machine.
  const lines = Array.from({ length: 500_000 }, (_, id) => `${plantJson(BigInt(id), "Monstera")}\n`);
  const [file, copy] = [store.write("plants.ndjson", lines.join("")), store.file("copy")];
  const shown = async (command: string) => {
    const program = new TerminalProgram(["/bin/sh", "-c", `'${plantstore}' ${command}`], {
      env: { PLANTSTORE_DATABASE: store.database },
    });
    expect(await program.exited).toBe(0);
    return program.output.ended;
  };
  const progress = (raw: string) => Bun.stripANSI(raw).match(/[\d,]+ plants, [\d,]+ a second/g)?.length;
  expect(progress(await shown(`import ${file}`))).toBeGreaterThan(0);
  expect(progress(await shown(`export > ${copy}`))).toBeGreaterThan(0);
  expect(readFileSync(copy, "utf8")).toBe(lines.join(""));
  expect(await shown(`import ${file} --quiet`)).toBe("");
  expect(await shown(`export --quiet > ${copy}`)).toBe("");
  // The reader of a pipe may write to the same terminal.
  expect(await shown("export | cat >/dev/null")).toBe("");
});
