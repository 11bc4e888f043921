// Settings that are what one command is told, and no server is configured with.

import { setting } from "./setting.ts";
import { readEnd, readName, readSpan, readSwitch, readText } from "./values.ts";

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
    meaning: "your name for the token, by which it is listed, rotated and revoked",
    read: readName,
  }),
  tokenExpires: setting<number | "never" | undefined>({
    flag: "--expires <when>",
    environment: "PLANTSTORE_TOKEN_EXPIRES",
    meaning:
      "when the token ends: 90d, 12h, a date such as 2027-01-31, or never; if left out never, with rotate after as long as the token before it",
    read: readEnd,
  }),
  tokenOverlap: setting({
    flag: "--overlap <span>",
    environment: "PLANTSTORE_TOKEN_OVERLAP",
    fallback: "7d",
    meaning: "how long the older tokens of the name still work beside a new one; 0s ends them at once",
    read: readSpan,
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
