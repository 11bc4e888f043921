// Settings of what is told of the server: the log and the traces.

import { setting } from "./setting.ts";
import { readInteger, readOneOf, readUrl } from "./values.ts";

export const observingSettings = {
  logFormat: setting({
    flag: "--log-format <format>",
    environment: "PLANTSTORE_LOG_FORMAT",
    default: "auto",
    description: "json, pretty for people, or auto: pretty on a terminal, else json",
    parse: readOneOf(["auto", "json", "pretty"]),
  }),
  logLevel: setting({
    flag: "--log-level <level>",
    environment: "PLANTSTORE_LOG_LEVEL",
    default: "info",
    description: "error, warn or info; what is less severe is left out of the log",
    parse: readOneOf(["error", "warn", "info"]),
  }),
  accessLog: setting({
    flag: "--access-log <lines>",
    environment: "PLANTSTORE_ACCESS_LOG",
    default: 10,
    description: "requests that get a line in the log, in a second at the most; 0 logs none",
    parse: readInteger(0, 1_000_000),
  }),
  otlpEndpoint: setting<string | undefined>({
    flag: "--otlp-endpoint <url>",
    environment: "PLANTSTORE_OTLP_ENDPOINT",
    description:
      "OpenTelemetry collector that traces are sent to, such as http://127.0.0.1:4318; none if left out",
    parse: readUrl,
  }),
};
