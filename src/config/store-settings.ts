// Settings of the store.

import { setting } from "./setting.ts";
import { readOneOf, readText } from "./values.ts";

export const storeSettings = {
  database: setting({
    flag: "--database <address>",
    environment: "PLANTSTORE_DATABASE",
    fallback: "sqlite:plantstore.db",
    meaning: "where the plants are kept: sqlite:FILE or postgres://user:password@host/database",
    read: readText,
  }),
  migrate: setting({
    flag: "--migrate <on|off>",
    environment: "PLANTSTORE_MIGRATE",
    fallback: "on",
    meaning: "whether the server makes the store, or upgrades its schema, when it starts",
    read: readOneOf(["on", "off"]),
  }),
};
