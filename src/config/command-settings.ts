// Settings that are what one command is told, and no server is configured with.

import { type FormatName, formatNames } from "../transfer/format.ts";
import { setting } from "./setting.ts";
import {
  parseDuration,
  parseExpiry,
  readDelimiter,
  readInt64,
  readInteger,
  readName,
  readOneOf,
  readSwitch,
  readText,
} from "./values.ts";

const MiB = 2 ** 20;

export const commandSettings = {
  config: setting<string | undefined>({
    flag: "--config <file>",
    environment: "PLANTSTORE_CONFIG",
    description: "file with settings, one NAME=value a line, named as in the environment",
    parse: readText,
  }),
  tokenName: setting({
    flag: "--name <name>",
    environment: "PLANTSTORE_TOKEN_NAME",
    description: "your name for the token, by which it is listed, rotated and revoked",
    parse: readName,
  }),
  tokenExpires: setting<number | "never" | undefined>({
    flag: "--expires <when>",
    environment: "PLANTSTORE_TOKEN_EXPIRES",
    description:
      "when the token ends: 90d, 12h, a date such as 2027-01-31, or never; if left out never, with rotate after as long as the token before it",
    parse: parseExpiry,
  }),
  tokenOverlap: setting({
    flag: "--overlap <span>",
    environment: "PLANTSTORE_TOKEN_OVERLAP",
    default: "7d",
    description: "how long the older tokens of the name still work beside a new one; 0s ends them at once",
    parse: parseDuration,
  }),
  quiet: setting({
    flag: "--quiet",
    environment: "PLANTSTORE_QUIET",
    default: false,
    description: "say nothing but errors",
    parse: readSwitch,
  }),
  json: setting({
    flag: "--json",
    environment: "PLANTSTORE_JSON",
    default: false,
    description: "print JSON instead of a table, a line for each row",
    parse: readSwitch,
  }),
  force: setting({
    flag: "--force",
    environment: "PLANTSTORE_FORCE",
    default: false,
    description: "replace what is there already: the backup file, or the store",
    parse: readSwitch,
  }),
  format: setting<FormatName | undefined>({
    flag: "--format <name>",
    environment: "PLANTSTORE_FORMAT",
    description: "ndjson or csv; if left out, import goes by the file's name, and export prints ndjson",
    parse: readOneOf(formatNames),
  }),
  delimiter: setting({
    flag: "--delimiter <character>",
    environment: "PLANTSTORE_DELIMITER",
    default: ",",
    description: "what stands between the cells of CSV: comma, semicolon, tab or a single character",
    parse: readDelimiter,
  }),
  tag: setting<string | undefined>({
    flag: "--tag <tag>",
    environment: "PLANTSTORE_TAG",
    description: "export only plants with exactly this tag",
    parse: (text) => text,
  }),
  sinceId: setting<bigint | undefined>({
    flag: "--since-id <id>",
    environment: "PLANTSTORE_SINCE_ID",
    description: "export only plants with an id greater than this",
    parse: readInt64,
  }),
  recordBytesMax: setting({
    flag: "--record-bytes-max <bytes>",
    environment: "PLANTSTORE_RECORD_BYTES_MAX",
    default: 64 * MiB,
    description: "longest entry of a file that import reads; a longer one is refused",
    parse: readInteger(1, 512 * MiB),
  }),
};
