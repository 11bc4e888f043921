// plantstore migrate: makes the store, or brings its schema up to date.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { printError, tellWaiting } from "../output.ts";
import { openStore } from "../store/open-store.ts";

export function migrateCommand(): Command {
  const command = new Command("migrate").description(
    "make the store, or bring its schema up to date; the server does so as well, unless --migrate off",
  );
  return withSettings(command, ["database"]).action(async () => {
    const store = await openStore(settingOf(command, "database"), "create", printError, {
      report: tellWaiting,
    });
    await store.close();
    printError(
      store.wasCreated
        ? `Made a new, empty store: ${store.location}`
        : `The store ${store.location} is there, and its schema is up to date.`,
    );
  });
}
