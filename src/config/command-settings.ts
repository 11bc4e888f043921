// Settings that are what one command is told, and no server is configured with.

import { type FormatName, formatNames } from "../transfer/format.ts";
import { setting } from "./setting.ts";
import {
  readDelimiter,
  readEnd,
  readInt64,
  readInteger,
  readName,
  readOneOf,
  readSpan,
  readSwitch,
  readText,
} from "./values.ts";

const MiB = 2 ** 20;

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
    meaning: "print JSON instead of a table, a line for each row",
    read: readSwitch,
  }),
  force: setting({
    flag: "--force",
    environment: "PLANTSTORE_FORCE",
    fallback: false,
    meaning: "replace what is there already: the backup file, or the store",
    read: readSwitch,
  }),
  format: setting<FormatName | undefined>({
    flag: "--format <name>",
    environment: "PLANTSTORE_FORMAT",
    meaning: "ndjson or csv; if left out, import goes by the file's name, and export prints ndjson",
    read: readOneOf(formatNames),
  }),
  delimiter: setting({
    flag: "--delimiter <character>",
    environment: "PLANTSTORE_DELIMITER",
    fallback: ",",
    meaning: "what stands between the cells of CSV: comma, semicolon, tab or a single character",
    read: readDelimiter,
  }),
  tag: setting<string | undefined>({
    flag: "--tag <tag>",
    environment: "PLANTSTORE_TAG",
    meaning: "export only plants with exactly this tag",
    read: (text) => text,
  }),
  sinceId: setting<bigint | undefined>({
    flag: "--since-id <id>",
    environment: "PLANTSTORE_SINCE_ID",
    meaning: "export only plants with an id greater than this",
    read: readInt64,
  }),
  recordBytesMax: setting({
    flag: "--record-bytes-max <bytes>",
    environment: "PLANTSTORE_RECORD_BYTES_MAX",
    fallback: 64 * MiB,
    meaning: "longest entry of a file that import reads; a longer one is refused",
    read: readInteger(1, 512 * MiB),
  }),
};
