// Clients without a valid token that send large bodies: their memory is bounded, and each is
// rejected.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { RunningServer } from "../../support/server.ts";

const connections = 500;
const bodyBytes = 2 ** 20;

/** Memory that 500 bodies of a megabyte would exceed many times over. */
const growthMbMax = 100;

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
])("%s", async (_, fields) => {
  const identity = ["--jwt-issuer", "http://127.0.0.1:1", "--jwt-audience", "plants"];
  await using server = await RunningServer.start({ args: identity });
  const { hostname, port } = new URL(server.url);
  const target = await server.target();
  const before = residentMb(server.pid);
  let most = before;
  /** Sends a create, and resolves with the status of the response. */
  async function attack(): Promise<string> {
    const answered = Promise.withResolvers<string>();
    const text = fields();
    const head = `POST /plants HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${text}\r\n\r\n`;
    const start = text.includes("chunked") ? `${head}${bodyBytes.toString(16)}\r\n` : head;
    const bytes = Buffer.from(start + " ".repeat(bodyBytes));
    let sent = 0;
    const send = (socket: Bun.Socket) => {
      while (sent < bytes.length) {
        const written = socket.write(bytes.subarray(sent, sent + 65_536));
        if (written <= 0) return;
        sent += written;
      }
    };
    await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: send,
        drain: send,
        data(_socket, data) {
          most = Math.max(most, residentMb(server.pid));
          answered.resolve(data.toString("latin1").slice(9, 12));
        },
        close: () => answered.resolve("closed without a response"),
      },
    });
    return answered.promise;
  }
  const statuses = await Promise.all(Array.from({ length: connections }, attack));
  expect(statuses.filter((status) => status !== "401" && status !== "503")).toEqual([]);
  expect(most - before).toBeLessThan(growthMbMax);
  const headers = { Authorization: `Bearer ${target.token}`, "Content-Type": "application/json" };
  const create = { method: "POST", headers, body: '{"id": 1, "name": "Monstera"}' };
  expect((await fetch(`${server.url}/plants`, create)).status).toBe(200);
});
