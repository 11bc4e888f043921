// plantstore check: whether the store can commit now, as /readyz says of a server's.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { OperatorError } from "../operator-error.ts";
import { printLines, tellWaiting } from "../output.ts";
import { openStore } from "../store/open-store.ts";

export function checkCommand(): Command {
  const command = new Command("check").description(
    "commit something that changes nothing: print ready and exit with 0, or say why not and exit with 1",
  );
  return withSettings(command, ["database"]).action(async () => {
    const store = await openStore(settingOf(command, "database"), "existing", () => undefined, {
      report: tellWaiting,
    });
    try {
      await store.assertWritable().catch((error) => {
        throw new OperatorError(`not ready: ${error instanceof Error ? error.message : error}`);
      });
      await printLines(["ready"]);
    } finally {
      await store.close();
    }
  });
}
