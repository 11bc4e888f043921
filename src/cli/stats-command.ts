// plantstore stats: prints the size of the store and the number of tokens.

import { Command } from "commander";
import { isActive } from "../core/auth/token.ts";
import { onlyCollection } from "../core/contract/contract.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { countPlants } from "../operations/stored-plants.ts";
import { withSettings } from "./config/command-options.ts";
import { formatTable, printLines } from "./output.ts";
import { withStore } from "./with-store.ts";

export function statsCommand(): Command {
  const command = new Command("stats")
    .description("print the number of plants, the size on disk and the tokens")
    .addHelpText("after", "\nPlants are counted one by one, which takes about a second for 10 million.");
  return withSettings(command, ["json", "database"], ({ json, database }) =>
    withStore(database, "existing", async (store) => {
      const stats = await readStats(store);
      await printLines(
        json ? [JSON.stringify(stats)] : formatStats(stats, onlyCollection(store.contract).words.many),
      );
    }),
  );
}

async function readStats(store: PlantStore) {
  const { engine } = store;
  await using sql = await store.openSql();
  const [plants, bytes] = [await countPlants(onlyCollection(store.contract), sql), await store.bytesOnDisk()];
  const all = await store.tokens.list();
  const active = all.filter((token) => isActive(token, Date.now())).length;
  const revoked = all.filter(({ revokedAt }) => revokedAt !== null).length;
  const tokens = { active, expired: all.length - active - revoked, revoked };
  return { engine, plants, bytesOnDisk: bytes, tokens };
}

function formatStats(
  { engine, plants, bytesOnDisk, tokens }: Awaited<ReturnType<typeof readStats>>,
  many: string,
): string[] {
  return formatTable([
    ["engine", engine],
    [many, plants.toLocaleString("en")],
    ["size on disk", `${bytesOnDisk.toLocaleString("en")} bytes`],
    ["tokens", `${tokens.active} active, ${tokens.expired} expired, ${tokens.revoked} revoked`],
  ]);
}
