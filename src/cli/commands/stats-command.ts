// plantstore stats: prints the size of the store and the number of tokens.

import { Command } from "commander";
import { isActive } from "../../auth/token.ts";
import type { Collection } from "../../contract/contract.ts";
import { countPlants } from "../../plants/stored-plants.ts";
import { formatTable, printLines } from "../../process/output.ts";
import type { PlantStore } from "../../store/plant-store.ts";
import { withSettings } from "../command-options.ts";
import { chosenCollection } from "./collection-setting.ts";
import { withStore } from "./with-store.ts";

export function statsCommand(): Command {
  const command = new Command("stats")
    .description("print the number of plants, the size on disk and the tokens")
    .addHelpText("after", "\nPlants are counted one by one, which takes about a second for 10 million.");
  return withSettings(command, ["collection", "json", "database"], ({ collection: wanted, json, database }) =>
    withStore(database, "existing", async (store) => {
      const { contract } = store;
      const chosen = wanted === undefined ? contract.collections : [chosenCollection(contract, wanted)];
      await using sql = await store.openSql();
      const counts = new Map<Collection, number>();
      for (const collection of chosen) counts.set(collection, await countPlants(collection, sql));
      const stats = await readStats(store);
      await printLines(json ? [statsJson(stats, counts)] : formatStats(stats, counts));
    }),
  );
}

type Counts = ReadonlyMap<Collection, number>;

async function readStats(store: PlantStore) {
  const all = await store.tokens.list();
  const active = all.filter((token) => isActive(token, Date.now())).length;
  const revoked = all.filter(({ revokedAt }) => revokedAt !== null).length;
  const tokens = { active, expired: all.length - active - revoked, revoked };
  return { engine: store.engine, bytesOnDisk: await store.bytesOnDisk(), tokens };
}

type Stats = Awaited<ReturnType<typeof readStats>>;

/** Has the sum of all plants, and where there are several collections those of each. */
function statsJson({ engine, ...stats }: Stats, counts: Counts): string {
  const plants = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const byName = Object.fromEntries([...counts].map(([{ name }, count]) => [name, count]));
  return JSON.stringify({ engine, plants, ...(counts.size > 1 && { collections: byName }), ...stats });
}

function formatStats({ engine, bytesOnDisk, tokens }: Stats, counts: Counts): string[] {
  const rows = [...counts].map(([{ name, words }, count]) => [
    counts.size > 1 ? name : words.many,
    count.toLocaleString("en"),
  ]);
  return formatTable([
    ["engine", engine],
    ...rows,
    ["size on disk", `${bytesOnDisk.toLocaleString("en")} bytes`],
    ["tokens", `${tokens.active} active, ${tokens.expired} expired, ${tokens.revoked} revoked`],
  ]);
}
