// plantstore sandbox: what it prints and writes, its seeds, and its end.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { TerminalProgram } from "../../support/output.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { plantstore, runCommand, TemporaryFolder } from "../../support/server.ts";

const notice =
  'A sandbox: nothing is kept, and all plants are gone when it ends. "plantstore serve" keeps them.\n';

describe("a start", () => {
  test("prints the base URL first, then all addresses and the token, and says that nothing is kept", async () => {
    await using sandbox = await RunningSandbox.startInProcess({ args: ["--base-path", "/v1"] });
    const origin = new URL(sandbox.controlUrl).origin;
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(sandbox.lines).toEqual([
      sandbox.url,
      `Interface      ${sandbox.url}/plants`,
      "Token          sandbox",
      `Documentation  ${sandbox.url}/`,
      `Console        ${origin}/console/`,
      `Control        ${origin}/sandbox`,
      "Seeds          none",
      "Store          in memory; nothing is kept",
    ]);
    const page = await fetch(`${sandbox.url}/`).then((response) => response.text());
    expect(page).toContain("This is a sandbox");
    expect(page).toContain('data-token="sandbox"');
    expect(page).toContain(`curl -X POST ${origin}/sandbox/reset`);
    expect(page).not.toContain("plantstore token");
    expect((await fetch(`${origin}/console/`)).status).toBe(200);
    expect(await fetch(`${origin}/readyz`).then((response) => response.text())).toBe("ready\n");
    expect((await post(sandbox, plantJson(1n, "Monstera"))).status).toBe(200);
    const { exitCode, stderr } = await sandbox.stop();
    expect(exitCode).toBe(0);
    expect(stderr).toStartWith(notice);
  });

  test("has the token of the flag or the variable, which must be one that a client can send", async () => {
    await using sandbox = await RunningSandbox.startInProcess({
      env: { PLANTSTORE_SANDBOX_TOKEN: "a-b.c_d~e+f/g==" },
    });
    expect(sandbox.token).toBe("a-b.c_d~e+f/g==");
    expect((await post(sandbox, plantJson(1n, "Monstera"))).status).toBe(200);
    expect(
      (await post({ ...sandbox, url: sandbox.url, token: "sandbox" }, plantJson(2n, "Ficus"))).status,
    ).toBe(401);
    expect(await runCommand(["sandbox", "--token", "two words"])).toEqual({
      exitCode: 2,
      stdout: "",
      stderr:
        "plantstore: --token: the value is not a bearer token: letters, digits and the characters - . _ ~ + /\n",
    });
  });

  test("has the rules of a file, also after a reset", async () => {
    using folder = new TemporaryFolder();
    const file = folder.file("rules.json");
    const match = { headers: { "X-Test": { absent: true } }, body: { name: { pattern: "^Mon" }, extra: 1 } };
    writeFileSync(file, JSON.stringify({ seed: 7, rules: [{ match, outcome: { error: 50300 } }] }));
    await using sandbox = await RunningSandbox.startInProcess({ args: ["--rules", file] });
    for (const rules of [[{ outcome: { error: 42900 } }], []]) {
      await sandbox.control("PUT", "/rules", { rules });
      await sandbox.control("POST", "/reset");
      expect((await sandbox.control("GET", "/rules")).json).toMatchObject({
        seed: 7n,
        rules: [{ match: { body: { name: { pattern: "^Mon" } } } }],
      });
    }
    // It need not be a plant.
    expect((await post(sandbox, '{"name":"Monstera","extra":1}')).status).toBe(503);
    expect((await post(sandbox, '{"name":"Monstera","extra":2}')).status).toBe(400);
    expect((await post(sandbox, "[1]")).status).toBe(400);

    for (const [text, message] of [
      ['{"rules":[{}]}', 'The body is not valid: /rules/0 must be an object with the member "outcome".'],
      ["null", "The body is not valid: it must be an object."],
      [
        '{"rules":[{"match":{"tga":"x"},"outcome":{"error":50300}}]}',
        'There is no condition "tga" in the contract, only collection, method,',
      ],
    ] as const) {
      writeFileSync(file, text);
      expect(await runCommand(["sandbox", "--rules", file])).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining(`plantstore: ${file}: ${message}`),
      });
    }
    expect(await runCommand(["sandbox", "--rules", folder.file("none")])).toMatchObject({ exitCode: 1 });
  });

  test("cannot be pointed at a store: it has no --database, and ignores the setting", async () => {
    using folder = new TemporaryFolder();
    const database = `sqlite:${folder.file("plants.db")}`;
    expect(await runCommand(["sandbox", "--database", database])).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: "plantstore: unknown option '--database'; see --help\n",
    });
    await using sandbox = await RunningSandbox.startInProcess({ env: { PLANTSTORE_DATABASE: database } });
    expect((await post(sandbox, plantJson(1n, "Monstera"))).status).toBe(200);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("without an admin listener there is no control; the ready file has the addresses until the end", async () => {
    using folder = new TemporaryFolder();
    const ready = folder.file("ready.json");
    await using sandbox = await RunningSandbox.startInProcess({
      args: ["--admin-port", "off", "--ready-file", ready],
    });
    expect(sandbox.lines).toContain("Control        off");
    expect(JSON.parse(readFileSync(ready, "utf8"))).toEqual({
      url: sandbox.url,
      resourcesUrl: `${sandbox.url}/plants`,
      collections: { plants: `${sandbox.url}/plants` },
      token: "sandbox",
      adminUrl: null,
      controlUrl: null,
      pid: sandbox.pid,
    });
    await sandbox.stop();
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

test("on a terminal a start prints a banner", async () => {
  const command = [plantstore, "sandbox", "--port", "0", "--admin-port", "0"];
  const program = new TerminalProgram(command, { env: { NO_COLOR: "1" } });
  const shown = await program.output.until((raw) =>
    raw.includes("nothing is kept\r\n") ? raw.replaceAll("\r\n", "\n") : undefined,
  );
  expect(shown.replaceAll(/:\d+/g, ":PORT")).toContain(`
Plant Store 0.1.0 sandbox

  Interface      http://127.0.0.1:PORT/plants
  Token          sandbox
  Documentation  http://127.0.0.1:PORT/
  Console        http://127.0.0.1:PORT/console/
  Control        http://127.0.0.1:PORT/sandbox
  Seeds          none
  Store          in memory; nothing is kept
`);
  program.type("\x03");
  expect(await program.exited).toBe(0);
});

describe("seeds", () => {
  const seedFile = (folder: TemporaryFolder, name: string, text: string) => {
    writeFileSync(folder.file(name), text);
    return ["--seed", folder.file(name)];
  };

  test("are CSV or JSON, with exact ids", async () => {
    using folder = new TemporaryFolder();
    const plants = [
      { id: -(2n ** 63n), name: "Ficus", tag: "tree" },
      { id: 9_007_199_254_740_993n, name: "Monstera, large" },
      { id: 2n ** 63n - 1n, name: "Aloe", tag: "" },
    ];
    const ndjson = `{"name":"Aloe","tag":"","id":9223372036854775807}

{"id":-9223372036854775808,"name":"Ficus","tag":"tree"}
{"id":9007199254740993,"name":"Monstera, large"}`;
    const csv = `id,name,tag
9223372036854775807,Aloe,""
-9223372036854775808,Ficus,tree
9007199254740993,"Monstera, large",
`;
    const array = `[${ndjson.split(/\n+/).join(",\n")}]`;
    for (const args of [
      seedFile(folder, "seeds.ndjson", ndjson),
      seedFile(folder, "seeds.csv", csv),
      seedFile(folder, "seeds.json", array),
    ]) {
      await using sandbox = await RunningSandbox.startInProcess({ args });
      expect(sandbox.lines).toContain(`Seeds          ${args[1]}`);
      expect(await sandbox.resources()).toEqual(plants);
      expect((await post(sandbox, plantJson(2n ** 63n - 1n, "Aloe", ""))).status).toBe(200);
      expect((await post(sandbox, plantJson(2n ** 63n - 1n, "Aloe"))).json).toMatchObject({ error: 40009 });
    }
  });

  test("that are invalid are an error with the line and the reason, and nothing starts", async () => {
    using folder = new TemporaryFolder();
    const failed = async (args: string[]) => {
      const command = ["sandbox", "--port", "0", "--admin-port", "0", ...args];
      const { exitCode, stdout, stderr } = await runCommand(command);
      expect({ exitCode, stdout, notice: stderr.slice(0, notice.length) }).toEqual({
        exitCode: 1,
        stdout: "",
        notice,
      });
      return stderr.slice(notice.length).replaceAll(folder.path, "");
    };
    const monstera = '{"id":1,"name":"Monstera"}\n';
    expect(await failed(seedFile(folder, "a.ndjson", `${monstera}{"id":2}\n`))).toBe(
      'plantstore: /a.ndjson, line 2: The record is not a NewPlant: "name" is required and must be a string, but is missing.\n',
    );
    expect(await failed(seedFile(folder, "a.json", `[${monstera.trim()}, {"id":2}]`))).toBe(
      'plantstore: /a.json, line 1, column 30: The record is not a NewPlant: "name" is required and must be a string, but is missing.\n',
    );
    expect(await failed(seedFile(folder, "b.ndjson", `${monstera}\n{"id":1,"name":"Ficus"}\n`))).toBe(
      "plantstore: /b.ndjson, line 3: The id 1 already holds a different plant, which is unchanged; choose another id.\n",
    );
  });
});

describe("the end", () => {
  test("comes with --exit-with-parent when standard input ends, and not without it", async () => {
    await using stays = await RunningSandbox.start();
    await stays.endInput();
    const ends = await RunningSandbox.start({ args: ["--exit-with-parent"] });
    await ends.endInput();
    const { exitCode, stderr } = await ends.ended();
    expect(exitCode).toBe(0);
    expect(stderr).toContain('"signal":"end of standard input"');
    expect((await post(stays, plantJson(1n, "Monstera"))).status).toBe(200);
    // A signal ends it as well, while its input is open.
    const stopped = await RunningSandbox.start({ args: ["--exit-with-parent"] });
    expect((await stopped.stop()).exitCode).toBe(0);
  });

  test("by kill -9 leaves no file, neither in the current folder nor among temporary files", async () => {
    using current = new TemporaryFolder();
    using temporary = new TemporaryFolder();
    await using sandbox = await RunningSandbox.start({
      cwd: current.path,
      env: { TMPDIR: temporary.path },
    });
    expect((await post(sandbox, plantJson(1n, "x".repeat(900_000)))).status).toBe(200);
    await sandbox.stop("SIGKILL");
    expect([readdirSync(current.path), readdirSync(temporary.path)]).toEqual([[], []]);
  });
});
