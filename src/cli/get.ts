// plantstore get ID: prints one plant as JSON.

import { Command } from "commander";
import { newPlantJson } from "../core/contract/plant.ts";
import type { Creation, ReadablePlantStore } from "../core/store/plant-store.ts";
import { withCreationJson } from "../operations/export.ts";
import { withSettings } from "./config/command-options.ts";
import { noSuchPlant, parseIdArgument } from "./id-argument.ts";
import { printStoredLines } from "./output.ts";
import { withStore } from "./with-store.ts";

export function getCommand(): Command {
  const command = new Command("get")
    .description("print one plant as JSON")
    .argument("<id>", "id of the plant, a 64-bit integer");
  return withSettings(
    command,
    ["database", "withCreation"],
    async ({ database, withCreation }, text: string) => {
      const id = parseIdArgument(text);
      await withStore(database, "existing", async (store) => {
        const plant = await store.get(id);
        if (plant === undefined) throw noSuchPlant(id);
        const creation = withCreation ? await readCreation(store, id) : undefined;
        const json = creation === undefined ? newPlantJson(plant) : withCreationJson({ ...plant, creation });
        await printStoredLines([json]);
      });
    },
  );
}

/** When and by whom a plant was created; undefined if it has been deleted since. */
async function readCreation(store: ReadablePlantStore, id: bigint): Promise<Creation | undefined> {
  await using read = await store.openSql("read");
  const [row] = await read.query<{ created_at: bigint | null; token: string | null }>(
    `SELECT created_at, creators.name AS token FROM plants LEFT JOIN creators ON creators.id = creator
     WHERE plants.id = $1`,
    [id],
  );
  if (row === undefined) return undefined;
  return { createdAt: row.created_at === null ? null : Number(row.created_at), token: row.token };
}
