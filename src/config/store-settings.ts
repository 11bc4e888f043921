// Settings of the store.

import { redactPasswords } from "./redact.ts";
import { setting } from "./setting.ts";
import { readDatabase, readOneOf } from "./values.ts";

export const storeSettings = {
  database: setting({
    flag: "--database <address>",
    environment: "PLANTSTORE_DATABASE",
    default: "sqlite:plantstore.db",
    description: "where the plants are kept: sqlite:FILE or postgres://user:password@host/database",
    secret: true,
    parse: readDatabase,
    display: redactPasswords,
  }),
  migrate: setting({
    flag: "--migrate <on|off>",
    environment: "PLANTSTORE_MIGRATE",
    default: "on",
    description: "whether the server makes the store, or upgrades its schema, when it starts",
    parse: readOneOf(["on", "off"]),
  }),
};
