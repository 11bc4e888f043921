// Settings of the two listeners: where they are, and who may call them.

import type { CorsOrigins } from "../api/cors.ts";
import { setting } from "./setting.ts";
import { readBasePath, readInteger, readOneOf, readOrigins, readText, readUrl } from "./values.ts";

export const listenerSettings = {
  host: setting({
    flag: "--host <address>",
    environment: "PLANTSTORE_HOST",
    default: "127.0.0.1",
    description: "address that the public listener binds to",
    parse: readText,
  }),
  port: setting({
    flag: "--port <number>",
    environment: "PLANTSTORE_PORT",
    default: 8080,
    description: "port of the public listener; 0 takes a free one",
    parse: readInteger(0, 65_535),
  }),
  tlsCertificate: setting<string | undefined>({
    flag: "--tls-certificate <file>",
    environment: "PLANTSTORE_TLS_CERTIFICATE",
    description: "certificate of the public listener in PEM, with its chain; read again when it changes",
    parse: readText,
  }),
  tlsKey: setting<string | undefined>({
    flag: "--tls-key <file>",
    environment: "PLANTSTORE_TLS_KEY",
    description: "key of that certificate in PEM, without a passphrase",
    parse: readText,
  }),
  basePath: setting({
    flag: "--base-path <path>",
    environment: "PLANTSTORE_BASE_PATH",
    default: "",
    description: "path in front of /plants, such as /v1",
    parse: readBasePath,
  }),
  publicUrl: setting<string | undefined>({
    flag: "--public-url <url>",
    environment: "PLANTSTORE_PUBLIC_URL",
    description: "base address that clients use, if a proxy stands in front",
    parse: readUrl,
  }),
  cors: setting<CorsOrigins>({
    flag: "--cors <origins>",
    environment: "PLANTSTORE_CORS",
    default: "*",
    description: "web origins that may call: *, off, or a list separated by commas",
    parse: readOrigins,
  }),
  docs: setting<"on" | "off">({
    flag: "--docs <on|off>",
    environment: "PLANTSTORE_DOCS",
    default: "on",
    description: "whether the public listener has a documentation page, at its base address",
    parse: readOneOf(["on", "off"]),
  }),
  adminHost: setting({
    flag: "--admin-host <address>",
    environment: "PLANTSTORE_ADMIN_HOST",
    default: "127.0.0.1",
    description: "address that the admin listener binds to; beyond loopback with --admin-password-hash alone",
    parse: readText,
  }),
  adminPort: setting<number | "off">({
    flag: "--admin-port <number>",
    environment: "PLANTSTORE_ADMIN_PORT",
    default: 8081,
    description:
      "port of the admin listener with the console, /livez, /readyz and /metrics; 0 takes a free one, off has none",
    parse: (text) => (text === "off" ? text : readInteger(0, 65_535)(text)),
  }),
};
