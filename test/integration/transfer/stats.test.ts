// plantstore stats, on every engine.

import { expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { runCommand, withStore } from "../../support/server.ts";
import { storePlants } from "../../support/stored-plants.ts";

for (const engine of engines) {
  test(`${engine.name}: stats prints plants, size and tokens, as a table or as JSON`, async () => {
    await using place = await engine.createTestStore();
    const command = (...args: string[]) => runCommand([...args, "--database", place.database]);
    const plants = Array.from({ length: 1_234 }, (_, id) => ({ id: BigInt(id), name: "x".repeat(100) }));
    await storePlants(place.database, plants);
    await withStore(place.database, "writable", async ({ tokens }) => {
      for (const name of ["one", "two", "three"])
        await tokens.add({ hash: name, name, createdAt: 1, expiresAt: null });
      await tokens.add({ hash: "short", name: "short", createdAt: 1, expiresAt: 2 });
      await tokens.revoke("one", 3);
    });

    const { exitCode, stdout } = await command("stats", "--json");
    expect({ exitCode, ...JSON.parse(stdout) }).toEqual({
      exitCode: 0,
      engine: engine.engine,
      plants: 1_234,
      bytesOnDisk: expect.any(Number),
      tokens: { active: 2, expired: 1, revoked: 1 },
    });
    // On Citus each shard has pages of its own.
    expect(JSON.parse(stdout).bytesOnDisk).toBeWithin(1_234 * 100, 1_234 * 2_000);
    const table = (await command("stats")).stdout;
    expect(table).toMatch(new RegExp(`^engine        ${engine.engine}\nplants +1,234\nsize on disk  `));
    expect(table).toContain("\ntokens        2 active, 1 expired, 1 revoked\n");
  });
}
