// Clients without a valid token that send large bodies: their memory is bounded, and each is
// rejected.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { RawConnection } from "../../support/raw-connection.ts";
import { RunningServer } from "../../support/server.ts";

const connections = 1_500;
const bodyBytes = 2 ** 20;
const body = Buffer.alloc(bodyBytes, " ");

/**
 * 6 to 90 MB were measured; 150 to 1,100 MB if the responses wait for the end of the tick, as those
 * without a body do.
 */
const growthMbMax = 140;

function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}

const unknown = () => `pst_${crypto.randomUUID().replaceAll("-", "")}${"x".repeat(11)}`;
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const forged = () =>
  `${encode({ alg: "ES256", kid: crypto.randomUUID() })}.${encode({ iss: "https://id.example" })}.AAAA`;
const length = `Content-Length: ${bodyBytes}`;

test.each<[string, fields: () => string]>([
  ["unknown tokens", () => `Authorization: Bearer ${unknown()}\r\n${length}`],
  ["forged JWTs", () => `Authorization: Bearer ${forged()}\r\n${length}`],
  ["chunked bodies", () => `Authorization: Bearer ${unknown()}\r\nTransfer-Encoding: chunked`],
  ["no token", () => length],
])("%s: the memory is bounded, and each client is rejected", async (_, fields) => {
  const identity = ["--jwt-issuer", "http://127.0.0.1:1", "--jwt-audience", "plants"];
  await using server = await RunningServer.start({ args: identity });
  const target = await server.target();
  const before = residentMb(server.pid);
  let most = before;
  /** Sends a create, and resolves with the status of the response. */
  async function attack(): Promise<string> {
    const fieldLines = fields();
    const size = fieldLines.includes("chunked") ? `${bodyBytes.toString(16)}\r\n` : "";
    const head = `POST /plants HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${fieldLines}`;
    const connection = await RawConnection.open(server.url);
    // Without a copy of the body: Bun closes a connection whose head takes more than 12 seconds,
    // and a copy of a megabyte for each takes as long on a busy machine.
    connection.write(`${head}\r\n\r\n${size}`);
    connection.write(body);
    const received = await connection.until((text) => (text === "" ? undefined : text));
    most = Math.max(most, residentMb(server.pid));
    connection.terminate();
    return received?.slice(9, 12) ?? "closed without a response";
  }
  const statuses = await Promise.all(Array.from({ length: connections }, attack));
  expect(statuses.filter((status) => status !== "401" && status !== "503")).toEqual([]);
  expect(most - before).toBeLessThan(growthMbMax);
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
});
