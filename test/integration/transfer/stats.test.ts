// plantstore stats, on every engine.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { openServerStore } from "../../../src/store/open-store.ts";
import { engines } from "../../support/engines.ts";
import { plantJson } from "../../support/http.ts";
import { createStore, run, TemporaryFolder } from "../../support/server.ts";

for (const engine of engines) {
  test(`${engine.name}: stats prints plants, size, tokens and schema version, as a table or as JSON`, async () => {
    using folder = new TemporaryFolder();
    await using place = await engine.createTestStore();
    const command = (...args: string[]) => run([...args, "--database", place.database]);
    const lines = Array.from({ length: 1_234 }, (_, id) => plantJson(BigInt(id), "x".repeat(100)));
    writeFileSync(folder.file("plants.ndjson"), lines.join("\n"));
    await createStore(place.database);
    await command("import", folder.file("plants.ndjson"));
    for (const name of ["one", "two", "three"]) await command("token", "create", "--name", name);
    await command("token", "create", "--name", "short", "--expires", "1s");
    await command("token", "revoke", "one");

    const stats = async () => JSON.parse((await command("stats", "--json")).stdout);
    while ((await stats()).tokens.expired === 0) await Bun.sleep(50);
    expect(await stats()).toEqual({
      engine: engine.name,
      plants: 1_234,
      bytesOnDisk: expect.any(Number),
      tokens: { active: 2, expired: 1, revoked: 1 },
      schemaVersion: expect.any(Number),
    });
    const { bytesOnDisk, schemaVersion } = await stats();
    expect(bytesOnDisk).toBeGreaterThan(1_234 * 100);
    expect(bytesOnDisk).toBeLessThan(1_234 * 1_000);

    // A server reads the size without counting plants.
    const store = await openServerStore(place.database, "existing", {
      onUnavailable: () => undefined,
      onFailed: () => undefined,
    });
    const bytesOfServer = await store.bytesOnDisk();
    await store.close();
    expect(bytesOfServer).toBeGreaterThan(1_234 * 100);
    expect(bytesOfServer).toBeLessThan(1_234 * 1_000);

    const table = await command("stats");
    expect(table).toEqual({
      exitCode: 0,
      stderr: "",
      stdout: [
        `engine          ${engine.name}`,
        "plants          1,234",
        `size on disk    ${bytesOnDisk.toLocaleString("en")} bytes`,
        "tokens          2 active, 1 expired, 1 revoked",
        `schema version  ${schemaVersion}`,
        "",
      ].join("\n"),
    });
  });
}
