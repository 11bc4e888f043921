// A program: sends creates by a schedule, whether or not responses keep up. Prints its report as a
// line of JSON. Fails if a status is not 200, or a connection ends.
//
// A request that is due while every connection is busy waits for one. Latency counts from the
// schedule, so that neither that wait nor a client that lags behind flatters the server
// (coordinated omission).

import { quantile } from "../summary.ts";
import type { ClientPlan, ClientReport } from "./open-loop.ts";

/** More at a time would not fit into the backlog of a listener. */
const openedAtOnce = 100;

/** The warm-up before the measured seconds. */
const leadInSeconds = 1;

/**
 * How often the schedule is polled, which counts twice in a latency: for the request and for its
 * response. Without a pause the client would take a core from the server.
 */
const tickMs = 0.25;

/** For responses that are on their way when the schedule ends. */
const drainMsMax = 20_000;

/** A connection that is kept open. fetch costs several times what the server spends on a create. */
class Connection {
  #socket: Bun.Socket<Connection> | undefined;
  #response: PromiseWithResolvers<number> | undefined;
  #unsent: Uint8Array = new Uint8Array();
  #received: Buffer<ArrayBufferLike> = Buffer.alloc(0);

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const data = new Connection();
    const socket: Bun.SocketHandler<Connection> = {
      data: (_, chunk) => data.#receive(chunk),
      // Sends what the kernel did not take before.
      drain: () => data.#write(data.#unsent),
      close: () => data.#fail(),
    };
    data.#socket = await Bun.connect({ hostname, port: Number(port), data, socket });
    return data;
  }

  /** Sends a request, and resolves with the status. Rejects if the connection ends first. */
  send(request: Buffer): Promise<number> {
    this.#response = Promise.withResolvers();
    this.#write(request);
    return this.#response.promise;
  }

  #write(bytes: Uint8Array): void {
    if (this.#socket === undefined) this.#fail();
    const written = Math.max(0, this.#socket?.write(bytes) ?? 0);
    // A copy, as the caller writes the next request over these bytes.
    if (written < bytes.length || this.#unsent.length > 0)
      this.#unsent = Uint8Array.from(bytes.subarray(written));
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const status = parseStatus(bytes);
    this.#received = status === undefined ? bytes : Buffer.alloc(0);
    if (status !== undefined) this.#response?.resolve(status);
  }

  #fail(): void {
    this.#socket = undefined;
    this.#response?.reject(new Error("the server ended a connection"));
  }
}

/** The status of a response that has arrived to its end. */
function parseStatus(bytes: Buffer): number | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  return bytes.length < end + 4 + length ? undefined : Number(head.slice(9, 12));
}

/** As many digits as all ids have. */
const placeholder = "0".repeat(13);

/** A function that writes an id into the bytes of a create. They hold until its next call. */
function requestWriter({ url, token }: ClientPlan): (id: number) => Buffer {
  const body = `{"id": ${placeholder}, "name": "Monstera deliciosa ${placeholder}", "tag": "tropical"}`;
  const head = `POST /plants HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: Bearer ${token}\r\n`;
  const entity = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const bytes = Buffer.from(head + entity);
  const first = bytes.indexOf(placeholder);
  const second = bytes.indexOf(placeholder, first + placeholder.length);
  return (id) => {
    const digits = String(id);
    bytes.write(digits, first, "latin1");
    bytes.write(digits, second, "latin1");
    return bytes;
  };
}

async function run(plan: ClientPlan): Promise<ClientReport> {
  const { url, connections, firstId, ratePerSecond, seconds } = plan;
  const idle: Connection[] = [];
  while (idle.length < connections) {
    const count = Math.min(openedAtOnce, connections - idle.length);
    idle.push(...(await Promise.all(Array.from({ length: count }, () => Connection.open(url)))));
  }
  const request = requestWriter(plan);
  const startedAt = performance.now();
  const measuredFrom = startedAt + leadInSeconds * 1_000;
  const endsAt = measuredFrom + seconds * 1_000;
  const isMeasured = (time: number) => time >= measuredFrom && time < endsAt;
  /** Over the whole run, and over the seconds that are measured. */
  const accepted = { whole: 0, measured: 0 };
  const fromSchedule: number[] = [];
  const lag: number[] = [];

  /** Latency counts for requests that were due in the measured time; goodput for its responses. */
  async function create(connection: Connection, id: number, dueAt: number, sentAt: number): Promise<void> {
    const status = await connection.send(request(id));
    if (status !== 200) throw new Error(`a create was answered ${status}`);
    const answeredAt = performance.now();
    accepted.whole++;
    if (isMeasured(answeredAt)) accepted.measured++;
    if (!isMeasured(dueAt)) return;
    lag.push(sentAt - dueAt);
    fromSchedule.push(answeredAt - dueAt);
  }

  const perMs = ratePerSecond / 1_000;
  const scheduled = Math.floor((leadInSeconds + seconds) * ratePerSecond);
  let next = 0;
  while (next < scheduled || idle.length < connections) {
    const time = performance.now();
    if (time > endsAt + drainMsMax) throw new Error("not every create was answered");
    for (; next < scheduled && startedAt + next / perMs <= time; next++) {
      const connection = idle.pop();
      if (connection === undefined) break;
      create(connection, firstId + next, startedAt + next / perMs, time).then(
        () => idle.push(connection),
        fail,
      );
    }
    await pause();
  }
  const figures = {
    "creates/s": accepted.measured / seconds,
    "offered/s": fromSchedule.length / seconds,
    "p50 ms from schedule": quantile(fromSchedule, 0.5),
    "p99 ms from schedule": quantile(fromSchedule, 0.99),
    "p99.9 ms from schedule": quantile(fromSchedule, 0.999),
    "send lag p99 ms": quantile(lag, 0.99),
  };
  return { figures, accepted: accepted.whole };
}

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/** Timers are whole milliseconds, so this blocks the thread, and then reads responses. */
function pause(): Promise<void> {
  Atomics.wait(neverNotified, 0, 0, tickMs);
  return new Promise(setImmediate);
}

function fail(error: Error): never {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

const report = await run(JSON.parse(process.argv[2] ?? "") as ClientPlan).catch(fail);
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit();
