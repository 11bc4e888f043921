// Settings of the store.

import { setting } from "./setting.ts";
import { readDatabase, readOneOf } from "./values.ts";
import { withoutPasswords } from "./without-passwords.ts";

export const storeSettings = {
  database: setting({
    flag: "--database <address>",
    environment: "PLANTSTORE_DATABASE",
    fallback: "sqlite:plantstore.db",
    meaning: "where the plants are kept: sqlite:FILE or postgres://user:password@host/database",
    secret: true,
    read: readDatabase,
    shown: withoutPasswords,
  }),
  migrate: setting({
    flag: "--migrate <on|off>",
    environment: "PLANTSTORE_MIGRATE",
    fallback: "on",
    meaning: "whether the server makes the store, or upgrades its schema, when it starts",
    read: readOneOf(["on", "off"]),
  }),
};
