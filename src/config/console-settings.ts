// Settings of the console on the admin listener.

import { setting } from "./setting.ts";
import { readAddressRanges, readHostNames, readOneOf, readPasswordHash } from "./values.ts";

export const consoleSettings = {
  console: setting({
    flag: "--console <on|off>",
    environment: "PLANTSTORE_CONSOLE",
    default: "on",
    description: "whether the admin listener has the console for operators",
    parse: readOneOf(["on", "off"]),
  }),
  adminPasswordHash: setting<string | undefined>({
    flag: "--admin-password-hash <hash>",
    environment: "PLANTSTORE_ADMIN_PASSWORD_HASH",
    description:
      "what the console's password is checked by, made by plantstore password; none is asked for if left out",
    secret: true,
    parse: readPasswordHash,
  }),
  adminNames: setting<readonly string[] | undefined>({
    flag: "--admin-names <names>",
    environment: "PLANTSTORE_ADMIN_NAMES",
    description:
      "host names, separated by commas, that the console is reached by, beside addresses and localhost",
    parse: readHostNames,
  }),
  trustedProxies: setting<readonly string[] | undefined>({
    flag: "--trusted-proxies <addresses>",
    environment: "PLANTSTORE_TRUSTED_PROXIES",
    description:
      "proxies before the admin listener, as addresses or ranges separated by commas, that say who logs in, by Forwarded or X-Forwarded-For",
    parse: readAddressRanges,
  }),
};
