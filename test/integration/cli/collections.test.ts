// The commands on a store of several collections, on every engine.

import { expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { contractFile } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { jsonLines } from "../../support/output.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { createStore, RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";

const estateFile = contractFile("estate.yaml");
const estate = { text: await Bun.file(estateFile).text() };
const names = "parcels, couriers, special-events";
const courier = "0190b3a4-2a1b-7c3d-8e4f-5a6b7c8d9e0f";

/** The commands of a store. */
const commandsOf =
  (database: string) =>
  (args: string, input = "") =>
    runCommand([...args.split(" "), "--database", database], {}, input);

for (const engine of engines) {
  test(`${engine.name}: a command says which collection it concerns, by its name or path`, async () => {
    await using place = await engine.createTestStore(estate);
    const { database } = place;
    await createStore(database, estate);
    const command = commandsOf(database);
    const added = await command(
      "import - --collection parcels",
      '{"id":7,"sender":"Ada"}\n{"id":8,"sender":"B"}',
    );
    expect(added).toMatchObject({ exitCode: 0, stderr: "2 created, 0 already stored, 0 rejected\n" });
    await command("import - --collection /couriers", `{"courierId":"${courier}","name":"Grace"}`);

    for (const args of ["get 7", "update 7 --sender x", "delete 7", "import -", "export", "history 7"])
      expect([args, await command(args)]).toEqual([
        args,
        {
          exitCode: 2,
          stdout: "",
          stderr: `plantstore: the store has several collections; name one with --collection: ${names}\n`,
        },
      ]);
    expect(await command("get 7 --collection rooms")).toMatchObject({
      exitCode: 2,
      stderr: `plantstore: the store has no collection "rooms"; it has ${names}\n`,
    });
    expect((await command("get 7 --collection parcels")).stdout).toBe('{"id":7,"sender":"Ada"}\n');
    expect((await command(`get ${courier} --collection /couriers`)).stdout).toContain("Grace");
    expect((await command("export --collection couriers")).stdout).toBe(
      `{"courierId":"${courier}","name":"Grace"}\n`,
    );

    expect((await command("update 7 --collection parcels --sender Lin")).stderr).toStartWith(
      "parcel 7: sender",
    );
    expect((await command(`delete ${courier} --collection couriers`)).exitCode).toBe(0);
    const edits = jsonLines((await command("history --json")).stdout);
    expect(edits.map(({ collection, id }) => [collection, id])).toEqual([
      ["couriers", courier],
      ["parcels", 7],
    ]);
    const table = (await command("history")).stdout.split("\n");
    expect(table[0]).toMatch(/^WHEN +RUN +COLLECTION +ID +WHO +WHAT$/);
    expect(table[1]).toContain(`couriers    ${courier}`);
    const ofParcels = jsonLines((await command("history 7 --json --collection parcels")).stdout);
    expect(ofParcels).toEqual([expect.objectContaining({ id: 7, after: { id: 7, sender: "Lin" } })]);
    expect(await command("history 7 --collection special-events")).toMatchObject({ exitCode: 0 });

    const [{ run: deletion } = {}, { run: change } = {}] = edits;
    expect(await command(`history 7 --undo ${change} --collection special-events`)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("with the special event 7"),
    });
    expect((await command(`history 7 --undo ${change} --collection parcels`)).stderr).toStartWith("1 undone");
    expect((await command("export --collection couriers")).stdout).toBe("");
    // A run is of one collection, so its name suffices.
    expect((await command(`history --undo ${deletion}`)).stderr).toStartWith("1 undone");
    expect((await command("export --collection parcels")).stdout).toStartWith('{"id":7,"sender":"Ada"}\n');
    expect((await command("export --collection couriers")).stdout).toContain("Grace");
  });
}

for (const engine of engines) {
  test(`${engine.name}: all collections are exported to a folder, and imported from it`, async () => {
    await using place = await engine.createTestStore(estate);
    await using other = await engine.createTestStore(estate);
    using folder = new TemporaryFolder();
    const [from, to] = [commandsOf(place.database), commandsOf(other.database)];
    for (const { database } of [place, other]) await createStore(database, estate);
    await from("import - --collection parcels", '{"id":7,"sender":"Ada"}\n{"id":8,"sender":"B"}');
    await from("import - --collection couriers", `{"courierId":"${courier}","name":"Grace"}`);
    const out = folder.file("out");
    expect(await from(`export --all ${out}`)).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: `${out}/parcels.ndjson: 2 parcels\n${out}/couriers.ndjson: 1 courier\n${out}/special-events.ndjson: 0 special events\n`,
    });
    expect(readdirSync(out).toSorted()).toEqual([
      "couriers.ndjson",
      "parcels.ndjson",
      "special-events.ndjson",
    ]);
    expect(await from(`export --all ${out}`)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`${out}/parcels.ndjson exists already`),
    });
    expect((await from(`export --all ${out} --format csv`)).exitCode).toBe(0);
    expect(readFileSync(join(out, "parcels.csv"), "utf8")).toBe("id,sender,weight,status\n7,Ada,,\n8,B,,\n");
    expect(await to(`import --all ${out}`)).toMatchObject({
      exitCode: 2,
      stderr: `plantstore: ${out} has parcels.csv and parcels.ndjson; leave one file of parcels there\n`,
    });
    for (const name of ["parcels", "couriers", "special-events"]) rmSync(join(out, `${name}.csv`));

    writeFileSync(join(out, "parcels.ndjson"), '{"id":7,"sender":"Ada"}\n{"id":8}\n');
    writeFileSync(join(out, "notes.txt"), "");
    const lines = (created: number, stored: number) =>
      [
        "not of a collection, and not imported: notes.txt",
        `${out}/parcels.ndjson: ${created} created, ${stored} already stored, 1 rejected; see ${out}/parcels.ndjson.rejected.ndjson`,
        `${out}/couriers.ndjson: ${created} created, ${stored} already stored, 0 rejected`,
        `${out}/special-events.ndjson: 0 created, 0 already stored, 0 rejected; the file has no record\n`,
      ].join("\n");
    const predicted = await to(`import --all ${out} --dry-run`);
    expect([predicted.exitCode, predicted.stdout]).toEqual([
      3,
      expect.stringContaining(`${out}/couriers.ndjson: dry run: 1 created,`),
    ]);
    // A rejection in one file does not keep the others from being imported.
    expect(await to(`import --all ${out}`)).toEqual({ exitCode: 3, stdout: "", stderr: lines(1, 0) });
    rmSync(join(out, "parcels.ndjson.rejected.ndjson"));
    expect((await to(`import --all ${out}`)).stderr).toBe(lines(0, 1));
    expect((await to("export --collection couriers")).stdout).toContain("Grace");

    expect(await to(`import --all ${out} x.csv`)).toMatchObject({ exitCode: 2 });
    expect(await to(`import --all ${out} --collection parcels`)).toMatchObject({ exitCode: 2 });
    expect(await from(`export --all ${out} --since-id 7`)).toMatchObject({ exitCode: 2 });
    expect(await to(`import --all ${folder.path}`)).toMatchObject({
      exitCode: 2,
      stderr: `plantstore: ${folder.path} has no file of a collection, such as parcels.ndjson\n`,
    });
  });

  test(`${engine.name}: the files of an export are whole, and only their owner can read them`, async () => {
    await using place = await engine.createTestStore(estate);
    using folder = new TemporaryFolder();
    await createStore(place.database, estate);
    const from = commandsOf(place.database);
    const senders = Array.from({ length: 5_000 }, (_, index) => "é".repeat(index % 40) || "A");
    const texts = {
      ndjson: senders.map((sender, id) => `{"id":${id},"sender":"${sender}"}\n`).join(""),
      csv: `id,sender,weight,status\n${senders.map((sender, id) => `${id},${sender},,\n`).join("")}`,
    };
    await from("import - --collection parcels", texts.ndjson);
    for (const [format, text] of Object.entries(texts)) {
      const out = folder.file(format);
      expect(await from(`export --all ${out} --format ${format} --quiet`)).toMatchObject({ exitCode: 0 });
      const file = join(out, `parcels.${format}`);
      // Not the texts themselves, whose difference would fill the screen.
      expect(readFileSync(file, "utf8") === text).toBe(true);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect((await from(`import --all ${out}`)).stderr).toContain(
        `parcels.${format}: 0 created, 5,000 already stored, 0 rejected`,
      );
    }
  });

  test(`${engine.name}: an export writes through no link that was there before`, async () => {
    await using place = await engine.createTestStore(estate);
    using folder = new TemporaryFolder();
    await createStore(place.database, estate);
    const out = folder.file("out");
    mkdirSync(out);
    writeFileSync(folder.file("theirs"), "theirs");
    symlinkSync(folder.file("theirs"), join(out, "parcels.ndjson.partial"));
    symlinkSync(folder.file("nothing"), join(out, "couriers.ndjson"));
    expect(await commandsOf(place.database)(`export --all ${out}`)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(folder.file("theirs"), "utf8")).toBe("theirs");
    expect(readdirSync(folder.path).toSorted()).toEqual(["out", "theirs"]);
    expect(lstatSync(join(out, "couriers.ndjson")).isFile()).toBe(true);
  });

  test(`${engine.name}: an import makes ids from the file's name and the numbers of its records`, async () => {
    await using place = await engine.createTestStore(estate);
    const { database } = place;
    await createStore(database, estate);
    using folder = new TemporaryFolder();
    const command = commandsOf(database);
    const file = folder.file("events.ndjson");
    const event = (name: string) => JSON.stringify({ eventName: name, location: "Hall" });
    const events = [event("One"), "", event("Two"), '{"location":"Hall"}', event("Three")];
    const imported = (path: string, options = "") =>
      command(`import ${path} --collection special-events${options}`);
    const stored = async () => (await command("export --collection special-events")).stdout;

    // As after an interruption: the first records are there already.
    writeFileSync(file, events.slice(0, 3).join("\n"));
    expect((await imported(file)).stderr).toStartWith("2 created, 0 already stored, 0 rejected");
    writeFileSync(file, events.join("\n"));
    expect((await imported(file)).stderr).toStartWith("1 created, 2 already stored, 1 rejected");
    expect((await imported(file)).stderr).toStartWith("0 created, 3 already stored, 1 rejected");
    const before = await stored();
    expect(jsonLines(before)).toHaveLength(3);

    // The same records in other formats, under the same key, have the same ids.
    const csv = folder.file("events.csv");
    writeFileSync(csv, "eventName;location\nOne;Hall\nTwo;Hall\n;Hall\nThree;Hall\n");
    const key = " --key events.ndjson";
    expect((await imported(csv, key)).stderr).toStartWith("0 created, 3 already stored, 1 rejected");
    writeFileSync(folder.file("events.json"), `[${[event("One"), event("Two")]}]`);
    expect((await imported(folder.file("events.json"), key)).stderr).toStartWith("0 created, 2 already");
    const piped = await command(`import - --collection special-events${key}`, event("One"));
    expect(piped.stderr).toStartWith("0 created, 1 already stored");
    expect(await stored()).toBe(before);

    // Another file of that name: nothing is overwritten, and the report says what to do.
    writeFileSync(file, event("Other"));
    const other = await imported(file);
    expect(other.stderr).toStartWith("0 created, 0 already stored, 1 rejected");
    const report = readFileSync(/see (\S+)/.exec(other.stderr)?.[1] ?? "", "utf8");
    expect(report).toContain("has created another special event from the record with this number");
    expect(report).toContain("another --key");
    expect((await imported(file, " --key monday")).stderr).toStartWith("1 created");

    // An export has the ids, which an import keeps.
    const all = await stored();
    expect(jsonLines(all)).toHaveLength(4);
    writeFileSync(file, all);
    expect((await imported(file)).stderr).toStartWith("0 created, 4 already stored, 0 rejected");

    // Where clients choose them, each record must have one.
    writeFileSync(folder.file("parcels.ndjson"), '{"sender":"Ada"}');
    const parcels = await command(`import ${folder.file("parcels.ndjson")} --collection parcels`);
    expect(parcels.stderr).toContain("0 created, 0 already stored, 1 rejected");
  });
}

test.each(engines.map((engine) => [engine.name, engine] as const))(
  "%s: a migration renames a collection and drops another, and says so",
  async (_, engine) => {
    await using place = await engine.createTestStore(estate);
    const { database } = place;
    await createStore(database, estate);
    const command = commandsOf(database);
    await command("import - --collection parcels", '{"id":7,"sender":"Ada"}\n{"id":8,"sender":"B"}');
    using folder = new TemporaryFolder();
    const file = folder.file("other.yaml");
    writeFileSync(file, estate.text.replaceAll("/parcels", "/boxes"));
    const renamed = await command(`migrate --contract ${file} --rename-fields /parcels=/boxes`);
    expect([renamed.exitCode, renamed.stderr.split("\n")[0]]).toEqual([
      0,
      "The contract renames /parcels to /boxes.",
    ]);
    expect((await command("export --collection boxes")).stdout.split("\n")).toHaveLength(3);
    writeFileSync(file, estate.text.replaceAll("/parcels", "/crates"));
    const dropped = await command(`migrate --contract ${file} --drop-fields /boxes`);
    expect([dropped.exitCode, dropped.stderr.split("\n").slice(0, 2)]).toEqual([
      0,
      [
        "The contract adds /crates, and drops /boxes (2 boxes).",
        "What it drops is deleted; the history keeps what it recorded of it.",
      ],
    ]);
    expect((await command("export --collection crates")).stdout).toBe("");
  },
);

test("--operations is for a contract with one collection", async () => {
  const args = ["sandbox", "--contract", estateFile, "--port", "0", "--admin-port", "off"];
  expect(await runCommand([...args, "--operations", "create,list"])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(
      "plantstore: --operations is for a contract with one collection; describe the operations of each in this one\n",
    ),
  });
});

test("serve prints a first create of the first collection", async () => {
  await using server = await RunningServer.startInProcess({ args: ["--contract", estateFile] });
  expect((await server.stop()).stdout).toContain(`curl -i -w '\\n' ${server.url}/parcels \\\n`);
});

test("a backup and its restore count each collection", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("store.db")}`;
  await createStore(database, estate);
  const command = commandsOf(database);
  await command("import - --collection parcels", '{"id":7,"sender":"Ada"}\n{"id":8,"sender":"B"}');
  const counts = "2 parcels, 0 couriers, 0 special events";
  const file = folder.file("backup.db");
  expect((await command(`backup ${file}`)).stderr).toBe(`${file}: ${counts}, verified.\n`);
  expect((await command(`restore ${file} --force`)).stderr).toStartWith(`Restored ${counts} and the tokens`);
});

test("a sandbox says where each collection is", async () => {
  await using sandbox = await RunningSandbox.startInProcess({ args: ["--contract", estateFile] });
  const { url, lines } = sandbox;
  expect(lines.join("\n")).toContain(
    `\nInterface      ${url}/parcels\n               ${url}/couriers\n               ${url}/special-events\nToken `,
  );
});
