// plantstore serve: declares the command; process/serve.ts runs it.

import { Command } from "commander";
import { serverSettingNames } from "../../process/config/settings.ts";
import { withSettings } from "../command-options.ts";

export function serveCommand(): Command {
  const command = new Command("serve").description(
    "run the server, and print its addresses; the first line is its base URL if standard output is not a terminal",
  );
  return withSettings(command, serverSettingNames, async (config) => {
    // A separate module, so that the help of all commands does not load it.
    const { serve } = await import("../../process/serve.ts");
    await serve(config);
  });
}
