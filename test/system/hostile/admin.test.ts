// Hostile requests to the admin listener and its console: none gets more than GET of its paths
// returns.

import { expect, test } from "bun:test";
import { RawConnection, rawAnswers } from "../../support/raw-connection.ts";
import { badBodies } from "./bodies.ts";
import { framing } from "./framing.ts";
import { heads } from "./heads.ts";
import { fill, firstId } from "./hostile-request.ts";
import { HostileSession } from "./hostile-session.ts";

const statusPaths = ["/livez", "/readyz", "/metrics"];

/** Calls of the console for which a NewPlant, or a similar body, is invalid. */
const calls = [
  ...["plants", "plant/change", "plant/delete", "import", "tokens"],
  ...["tokens/rotate", "tokens/revoke"],
].map((call) => `/console/api/${call}`);

test("hostile requests are rejected, and the public listener is not affected", async () => {
  await using session = await HostileSession.start();
  const url = await session.server.adminUrl();
  const methods = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"];
  const requests = [
    ...[...framing, ...heads, ...badBodies].map(({ bytes }) =>
      fill(bytes, { id: firstId, ...session.target }),
    ),
    ...statusPaths.flatMap((path) => [
      ...methods.map((method) => `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`),
      `GET ${path}/ HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET /x/..${path}%00 HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\n\r\n`,
    ]),
    // With the headers that a page of the console sends.
    ...calls.flatMap((path) =>
      [...framing, ...badBodies].map(({ bytes }) =>
        fill(bytes, { id: firstId, ...session.target })
          .replace(/^\w+ \S+/, `POST ${path}`)
          .replace("\r\nHost: plants.example", "\r\nHost: localhost\r\nX-Plantstore-Console: 1"),
      ),
    ),
  ];
  const left = requests.values();
  const found: string[] = [];
  const send = async () => {
    for (const request of left) {
      const statuses = await statusesOf(url, request);
      if (statuses.some((status) => status !== 505 && (status < 400 || status >= 500)))
        found.push(`${JSON.stringify(request.slice(0, 100))}: ${statuses}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, send));
  expect(found).toEqual([]);
  for (const path of statusPaths) expect((await fetch(url + path)).status).toBe(200);
  expect(await session.faults()).toEqual([]);
});

async function statusesOf(url: string, request: string): Promise<number[]> {
  const connection = await RawConnection.open(url);
  connection.write(request);
  await connection.until((received) => (rawAnswers(received).answers.length > 0 ? true : undefined));
  connection.end();
  return rawAnswers(await connection.closed).answers.map(({ status }) => status);
}
