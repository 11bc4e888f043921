// plantstore export: every plant as a line of JSON.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { type NewPlant, newPlantJson } from "../contract/plant.ts";
import { printLines, tell } from "../operator-output.ts";
import { openStore } from "../store/open-store.ts";

export function exportCommand(): Command {
  const command = new Command("export").description(
    "print all plants as NDJSON, ordered by id, from one snapshot; works while the server runs",
  );
  return withSettings(command, ["database"]).action(async () => {
    const store = await openStore(settingOf(command, "database"), "existing", tell);
    try {
      await printLines(linesOf(store.export()));
    } finally {
      await store.close();
    }
  });
}

async function* linesOf(plants: AsyncIterable<NewPlant>): AsyncGenerator<string> {
  for await (const plant of plants) yield newPlantJson(plant);
}
