// plantstore serve: declares the command; process/serve.ts runs it.

import { Command } from "commander";
import { serverSettingNames } from "../../process/config/settings.ts";
import { storeAt } from "../../store/open-store.ts";
import { withSettings } from "../command-options.ts";

export function serveCommand(): Command {
  const command = new Command("serve").description(
    "run the server, and print its addresses; the first line is its base URL if standard output is not a terminal",
  );
  return withSettings(command, serverSettingNames, async (config) => {
    // Loaded here, so that the help of all commands does without them, and together: a start takes 0.91 of
    // the time.
    const [{ serve }] = await Promise.all([
      import("../../process/serve.ts"),
      storeAt(config.database).load(),
    ]);
    await serve(config);
  });
}
