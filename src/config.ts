// Every setting once: its flag, its environment name, its default and its meaning. The README's table is held
// against this one by a test.

import { type Command, InvalidArgumentError, Option } from "commander";
import type { CorsOrigins } from "./api/cors.ts";
import { momentFromText } from "./moment.ts";
import { OperatorError } from "./operator-error.ts";

interface Setting<Value> {
  /** As commander reads it: the long flag and its argument. */
  readonly flag: string;
  readonly environment: string;
  readonly fallback?: Value;
  readonly meaning: string;
  /** Throws an InvalidArgumentError that says what would be right. */
  readonly read: (text: string) => Value;
}

const MiB = 2 ** 20;

export const settings = {
  host: setting({
    flag: "--host <address>",
    environment: "PLANTSTORE_HOST",
    fallback: "127.0.0.1",
    meaning: "address that the public listener binds to",
    read: readText,
  }),
  port: setting({
    flag: "--port <number>",
    environment: "PLANTSTORE_PORT",
    fallback: 8080,
    meaning: "port of the public listener; 0 takes a free one",
    read: readInteger(0, 65_535),
  }),
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
    read: readOnOff,
  }),
  adminHost: setting({
    flag: "--admin-host <address>",
    environment: "PLANTSTORE_ADMIN_HOST",
    fallback: "127.0.0.1",
    meaning: "address that the admin listener binds to; loopback only",
    read: readLoopback,
  }),
  adminPort: setting<number | "off">({
    flag: "--admin-port <number>",
    environment: "PLANTSTORE_ADMIN_PORT",
    fallback: 8081,
    meaning: "port of the admin listener with /livez and /readyz; 0 takes a free one, off has none",
    read: (text) => (text === "off" ? text : readInteger(0, 65_535)(text)),
  }),
  basePath: setting({
    flag: "--base-path <path>",
    environment: "PLANTSTORE_BASE_PATH",
    fallback: "",
    meaning: "path in front of /plants, such as /v1",
    read: readBasePath,
  }),
  publicUrl: setting<string | undefined>({
    flag: "--public-url <url>",
    environment: "PLANTSTORE_PUBLIC_URL",
    meaning: "base address that clients use, if a proxy stands in front",
    read: readUrl,
  }),
  cors: setting<CorsOrigins>({
    flag: "--cors <origins>",
    environment: "PLANTSTORE_CORS",
    fallback: "*",
    meaning: "web origins that may call: *, off, or a list separated by commas",
    read: readOrigins,
  }),
  bodyBytesMax: setting({
    flag: "--body-bytes-max <bytes>",
    environment: "PLANTSTORE_BODY_BYTES_MAX",
    fallback: MiB,
    meaning: "largest body that is read; one over it is refused with 413",
    // SQLite holds strings of up to 10^9 bytes.
    read: readInteger(1, 512 * MiB),
  }),
  queuePlantsMax: setting({
    flag: "--queue-plants-max <plants>",
    environment: "PLANTSTORE_QUEUE_PLANTS_MAX",
    fallback: 10_000,
    meaning: "plants that may wait for a commit; one more is refused with 503",
    read: readInteger(1, 1_000_000),
  }),
  tokenRate: setting({
    flag: "--token-rate <creates>",
    environment: "PLANTSTORE_TOKEN_RATE",
    fallback: 0,
    meaning: "creates that a token may send in a second, one more is refused with 429; 0 is any number",
    read: readInteger(0, 1_000_000),
  }),
  drainSecondsMax: setting({
    flag: "--drain-seconds-max <seconds>",
    environment: "PLANTSTORE_DRAIN_SECONDS_MAX",
    fallback: 10,
    meaning: "time for accepted requests to be answered when the server stops",
    read: readInteger(0, 3_600),
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
    meaning: "print a line of JSON for each token instead of a table",
    read: readSwitch,
  }),
};

type SettingName = keyof typeof settings;
export type SettingValue<Name extends SettingName> =
  (typeof settings)[Name] extends Setting<infer Value> ? Value : never;

/** Gives a command the settings that it uses, as flags and as environment variables; `required` ones must be given. */
export function withSettings(
  command: Command,
  names: readonly SettingName[],
  required: readonly SettingName[] = [],
): Command {
  for (const name of names) {
    const { flag, environment, fallback, meaning, read }: Setting<unknown> = settings[name];
    const option = new Option(flag, meaning)
      .env(environment)
      .default(fallback)
      .makeOptionMandatory(required.includes(name));
    command.addOption(flag.includes("<") ? option.argParser(read) : option);
  }
  return command;
}

/** The value of a setting that a command was given by withSettings. */
export function settingOf<Name extends SettingName>(command: Command, name: Name): SettingValue<Name> {
  const { flag, environment, read } = settings[name];
  const option = command.options.find(({ long }) => long === flag.split(" ")[0]);
  if (option === undefined) throw new Error(`The command ${command.name()} does not use the setting ${name}`);
  const attribute = option.attributeName();
  // Commander takes any value of such a variable for a yes.
  const isSwitchByVariable = !flag.includes("<") && command.getOptionValueSource(attribute) === "env";
  if (isSwitchByVariable) return read(process.env[environment] ?? "") as SettingValue<Name>;
  return command.getOptionValue(attribute);
}

function setting<Value>(entry: Setting<Value>): Setting<Value> {
  return entry;
}

function readText(text: string): string {
  if (text === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

function readName(text: string): string {
  if (text === "" || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError("It must be one line of text, without control characters.");
  }
  return text;
}

/** What the variable of a flag without an argument may say. */
function readSwitch(text: string): boolean {
  if (/^(?:1|on|true|yes)$/i.test(text)) return true;
  if (/^(?:0|off|false|no|)$/i.test(text)) return false;
  throw new OperatorError(`a variable says "${text}", but must say on or off`, 2);
}

function readInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

function readOnOff(text: string): string {
  if (text !== "on" && text !== "off") throw new InvalidArgumentError("It must be on or off.");
  return text;
}

function readLoopback(text: string): string {
  if (!/^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/.test(text)) {
    throw new InvalidArgumentError("It must be a loopback address: the admin listener asks for no password.");
  }
  return text;
}

function readBasePath(text: string): string {
  if (!/^(?:\/[A-Za-z0-9\-._~]+)*\/?$/.test(text)) {
    throw new InvalidArgumentError("It must be a path such as /v1, of letters, digits and - . _ ~");
  }
  return text.replace(/\/$/, "");
}

function readUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError("It must be an address such as https://plants.example/v1.");
  }
  return text.replace(/\/$/, "");
}

function readOrigins(text: string): CorsOrigins {
  if (text === "*" || text === "off") return text;
  const origins = text.split(",").map((origin) => origin.trim());
  if (!origins.every((origin) => URL.parse(origin)?.origin === origin)) {
    throw new InvalidArgumentError(
      "It must be *, off, or origins such as https://docs.example separated by commas.",
    );
  }
  return origins;
}

function readMoment(text: string): number {
  const moment = momentFromText(text, Date.now());
  if (moment === undefined)
    throw new InvalidArgumentError("It must lie ahead, and be such as 90d, 12h or 2027-01-31.");
  return moment;
}
