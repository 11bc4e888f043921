// Settings that are what one command is told, and no server is configured with.

import { setting } from "./setting.ts";
import { readMoment, readName, readSwitch, readText } from "./values.ts";

export const commandSettings = {
  config: setting<string | undefined>({
    flag: "--config <file>",
    environment: "PLANTSTORE_CONFIG",
    meaning: "file with settings, one NAME=value a line, named as in the environment",
    read: readText,
  }),
  tokenName: setting({
    flag: "--name <name>",
    environment: "PLANTSTORE_TOKEN_NAME",
    meaning: "your name for the token, by which it is listed and revoked",
    read: readName,
  }),
  tokenExpires: setting<number | undefined>({
    flag: "--expires <when>",
    environment: "PLANTSTORE_TOKEN_EXPIRES",
    meaning: "when the token ends: 90d, 12h, or a date such as 2027-01-31; never if left out",
    read: readMoment,
  }),
  quiet: setting({
    flag: "--quiet",
    environment: "PLANTSTORE_QUIET",
    fallback: false,
    meaning: "say nothing but errors",
    read: readSwitch,
  }),
  json: setting({
    flag: "--json",
    environment: "PLANTSTORE_JSON",
    fallback: false,
    meaning: "print a line of JSON for each row instead of a table",
    read: readSwitch,
  }),
};
