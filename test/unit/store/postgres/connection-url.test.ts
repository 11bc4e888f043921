// The configuration of connections that a URL of PostgreSQL describes.

import { expect, test } from "bun:test";
import { userInfo } from "node:os";
import { type HostConfig, parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";

const certificate = new URL("../../../../LICENSE", import.meta.url).pathname;
const text = await Bun.file(certificate).text();
const [socket, account] = ["/var/run/postgresql", userInfo().username];

const defaults = { host: "h", port: 5432, ssl: false };

test.each<[url: string, hosts: readonly Partial<HostConfig>[]]>([
  ["//h/d", [{ ...defaults, database: "d" }]],
  ["//", [{ ...defaults, host: "localhost" }]],
  ["//u@h", [{ ...defaults, user: "u" }]],
  ["//u:a:b?c#d%40%2F%25@h/d%2Fe", [{ ...defaults, user: "u", password: "a:b?c#d@/%", database: "d/e" }]],
  ["//u:p@h/d?user=other&dbname=e", [{ ...defaults, user: "other", password: "p", database: "e" }]],
  [
    "//h:1,[::1]:2,i",
    [
      { ...defaults, port: 1 },
      { ...defaults, host: "::1", port: 2 },
      { ...defaults, host: "i" },
    ],
  ],
  [
    "//h,i?port=7",
    [
      { ...defaults, port: 7 },
      { ...defaults, host: "i", port: 7 },
    ],
  ],
  ["//u@%2Fvar%2Frun%2Fpostgresql:7/d", [{ ...defaults, host: socket, port: 7, user: "u", database: "d" }]],
  [`//?host=${socket}&sslmode=require`, [{ ...defaults, host: socket, user: account }]],
  ["//h?sslmode=require", [{ ...defaults, ssl: { rejectUnauthorized: false } }]],
  ["//h?sslmode=verify-full", [{ ...defaults, ssl: {} }]],
  [
    `//h?sslmode=verify-full&sslrootcert=${certificate}&sslcert=${certificate}&sslkey=${certificate}`,
    [{ ...defaults, ssl: { ca: text, cert: text, key: text } }],
  ],
  ...["require", "verify-ca"].map((mode): [string, Partial<HostConfig>[]] => [
    `//h?sslmode=${mode}&sslrootcert=${certificate}`,
    [{ ...defaults, ssl: { ca: text, checkServerIdentity: expect.any(Function) } }],
  ]),
])("%s", (url, hosts) => {
  const parsed = parsePostgresUrl(url).hosts.map(({ host, port, user, password, database, ssl }) => ({
    ...{ host, port, ssl },
    ...{ user, password, database },
  }));
  expect(parsed).toEqual(hosts as typeof parsed);
});
