// plantstore check: whether the store accepts writes, as /readyz reports for a server.

import { Command } from "commander";
import { errorMessage, OperatorError } from "../core/operator-error.ts";
import { withSettings } from "./config/command-options.ts";
import { printLines } from "./output.ts";
import { withStore } from "./with-store.ts";

export function checkCommand(): Command {
  const command = new Command("check").description(
    "verify that the store accepts writes: print ready and exit with 0, or print the reason and exit with 1",
  );
  return withSettings(command, ["database"], ({ database }) =>
    withStore(database, "existing", async (store) => {
      await store.assertWritable().catch((error) => {
        throw new OperatorError(`not ready: ${errorMessage(error)}`);
      });
      await printLines(["ready"]);
    }),
  );
}
