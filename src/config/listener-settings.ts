// Settings of the two listeners: where they are, and who may call them.

import type { CorsOrigins } from "../api/cors.ts";
import { setting } from "./setting.ts";
import { readBasePath, readInteger, readOneOf, readOrigins, readText, readUrl } from "./values.ts";

export const listenerSettings = {
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
  tlsCertificate: setting<string | undefined>({
    flag: "--tls-certificate <file>",
    environment: "PLANTSTORE_TLS_CERTIFICATE",
    meaning: "certificate of the public listener in PEM, with its chain; read again when it changes",
    read: readText,
  }),
  tlsKey: setting<string | undefined>({
    flag: "--tls-key <file>",
    environment: "PLANTSTORE_TLS_KEY",
    meaning: "key of that certificate in PEM, without a passphrase",
    read: readText,
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
  docs: setting<"on" | "off">({
    flag: "--docs <on|off>",
    environment: "PLANTSTORE_DOCS",
    fallback: "on",
    meaning: "whether the public listener has a documentation page, at its base address",
    read: readOneOf(["on", "off"]),
  }),
  adminHost: setting({
    flag: "--admin-host <address>",
    environment: "PLANTSTORE_ADMIN_HOST",
    fallback: "127.0.0.1",
    meaning: "address that the admin listener binds to; beyond loopback with --admin-password-hash alone",
    read: readText,
  }),
  adminPort: setting<number | "off">({
    flag: "--admin-port <number>",
    environment: "PLANTSTORE_ADMIN_PORT",
    fallback: 8081,
    meaning:
      "port of the admin listener with the console, /livez, /readyz and /metrics; 0 takes a free one, off has none",
    read: (text) => (text === "off" ? text : readInteger(0, 65_535)(text)),
  }),
};
