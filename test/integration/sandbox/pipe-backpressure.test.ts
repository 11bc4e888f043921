// The pipe in front of a server that does what the test says: back pressure, and connections that
// end early.

import { expect, test } from "bun:test";
import { type Exchange, Pipe } from "../../../src/sandbox/pipe.ts";
import { RequestLog } from "../../../src/sandbox/request-log.ts";
import type { WireEffect } from "../../../src/sandbox/wire-effects.ts";
import { eventually } from "../../support/eventually.ts";
import { RawConnection } from "../../support/raw-connection.ts";

type Upstream = Bun.Socket<undefined>;

interface Behaviour {
  /** Called with all bytes of a connection so far. */
  readonly data?: (socket: Upstream, chunk: Buffer) => void;
  readonly open?: (socket: Upstream) => void;
  readonly drain?: (socket: Upstream) => void;
  readonly close?: () => void;
}

/**
 * A pipe in front of a server, both closed with the scope. Each chunk that the server gets begins
 * an exchange.
 */
async function start(behaviour: Behaviour, effect?: WireEffect) {
  const log = new RequestLog();
  const exchanges: Exchange[] = [];
  const begin = ({ remotePort }: Upstream, chunk: Buffer) => {
    for (const method of chunk.toString("latin1").match(/(?:GET|POST)(?= \/)/g) ?? []) {
      const length = /(?<=Content-Length: )\d+/.exec(chunk.toString("latin1"))?.[0] ?? "0";
      const request = new Request("http://x/", { method, headers: { "Content-Length": length } });
      const exchange = pipe.begin(request, remotePort);
      if (exchange === undefined) continue;
      exchange.effect = effect;
      exchanges.push(exchange);
    }
  };
  const server = Bun.listen<undefined>({
    hostname: "127.0.0.1",
    port: 0,
    allowHalfOpen: true,
    socket: {
      open: (socket) => behaviour.open?.(socket),
      data(socket, chunk) {
        begin(socket, chunk);
        behaviour.data?.(socket, chunk);
      },
      drain: (socket) => behaviour.drain?.(socket),
      end: (socket) => void socket.end(),
      close: () => behaviour.close?.(),
      error: () => undefined,
    },
  });
  const pipe = new Pipe({ host: "127.0.0.1", port: 0, serverPort: server.port, log });
  return {
    pipe,
    log,
    exchanges,
    url: pipe.origin,
    async [Symbol.asyncDispose]() {
      await pipe.stop();
      server.stop(true);
    },
  };
}

const head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";

/** Waits until a number has stopped growing. */
async function settled(read: () => number): Promise<number> {
  for (let last = -1; ; ) {
    await Bun.sleep(100);
    if (read() === last) return last;
    last = read();
  }
}

/** Writes as many bytes as a socket takes, and the others as soon as it takes more. */
class Filler {
  readonly #length: number;
  sent = 0;

  constructor(length: number) {
    this.#length = length;
  }

  readonly write = (socket: { write(bytes: Buffer): number }): void => {
    const chunk = Buffer.alloc(2 ** 20, "x");
    for (let written = 1; written > 0 && this.sent < this.#length; this.sent += written)
      written = Math.max(0, socket.write(chunk.subarray(0, this.#length - this.sent)));
  };
}

/** What the buffers of four sockets hold. */
const bufferedBytesMax = 24 * 2 ** 20;

const portOf = ({ url }: { readonly url: string }) => Number(new URL(url).port);

test("a client that does not read stops the server, and gets all bytes when it reads", async () => {
  const length = 64 * 2 ** 20;
  const body = new Filler(length);
  const responseHead = `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`;
  await using pipe = await start({
    data(socket) {
      socket.write(responseHead);
      body.write(socket);
    },
    drain: body.write,
  });
  let received = 0;
  const data = (_: unknown, bytes: Buffer) => {
    received += bytes.length;
  };
  const client = await Bun.connect({ hostname: "127.0.0.1", port: portOf(pipe), socket: { data } });
  client.pause();
  client.write(head);
  await eventually("the first bytes", () => body.sent > 0);
  expect(await settled(() => body.sent)).toBeLessThan(bufferedBytesMax);
  client.resume();
  const all = responseHead.length + length;
  await eventually("all bytes", () => received >= all);
  expect([...pipe.log.after(0)]).toMatchObject([{ ended: "complete", response: { length: all } }]);
  client.end();
});

test("a server that does not read stops the client", async () => {
  let socket: Upstream | undefined;
  let received = 0;
  await using pipe = await start({
    open(opened) {
      socket = opened;
      opened.pause();
    },
    data: (_, chunk) => (received += chunk.length),
  });
  const length = 32 * 2 ** 20;
  const body = new Filler(length);
  const client = await Bun.connect<undefined>({
    hostname: "127.0.0.1",
    port: portOf(pipe),
    socket: { data: () => undefined, drain: body.write },
  });
  client.write(`POST / HTTP/1.1\r\nContent-Length: ${length}\r\n\r\n`);
  body.write(client);
  expect(await settled(() => body.sent)).toBeLessThan(bufferedBytesMax);
  socket?.resume();
  await eventually("all bytes", () => received >= length);
  client.end();
});

test("a client that resets the connection ends that to the server, and is in the log", async () => {
  let [asked, closed] = [0, 0];
  await using pipe = await start({ data: () => asked++, close: () => closed++ });
  const connections = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(pipe.url)));
  for (const connection of connections) connection.write(head);
  await eventually(
    "20 requests",
    () => asked,
    (count) => count >= 20,
  );
  for (const connection of connections) connection.terminate();
  await eventually(
    "20 closed and logged",
    () => Math.min(closed, pipe.log.last),
    (count) => count >= 20,
  );
  expect(new Set(Array.from(pipe.log.after(0), ({ ended }) => ended))).toEqual(new Set(["clientAborted"]));
});

test("a server that ends the connection in a response: the client gets what there is, and the log says so", async () => {
  await using pipe = await start({
    data(socket) {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo");
      socket.end();
    },
  });
  const connection = await RawConnection.open(pipe.url);
  connection.write(head);
  expect(await connection.closed).toBe("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo");
  expect([...pipe.log.after(0)]).toMatchObject([{ ended: "truncated" }]);
});

test.each([0, 20])(
  "an interim response %d ms before the final one is not changed by its effects, and in the log with it",
  async (ms) => {
    await using pipe = await start({
      data(socket) {
        const respond = () => {
          for (const exchange of pipe.exchanges) exchange.effect = { body: "truncated" };
          socket.write(ok);
        };
        socket.write("HTTP/1.1 100 Continue\r\n\r\n");
        if (ms === 0) respond();
        else setTimeout(respond, ms);
      },
    });
    const connection = await RawConnection.open(pipe.url);
    connection.write(head);
    const received = await connection.closed;
    expect(received).toBe(`HTTP/1.1 100 Continue\r\n\r\n${ok.slice(0, -2)}`);
    const [entry] = pipe.log.after(0);
    expect([entry?.response.bytes.toString(), entry?.ended]).toEqual([received, "truncated"]);
  },
);

test("responses behind one that is slowed down come after it, in their order", async () => {
  let requests = 0;
  await using pipe = await start(
    {
      data(socket, chunk) {
        const count = chunk.toString().split("GET").length - 1;
        for (let each = 0; each < count; each++) socket.write(ok.replace("body", `bod${++requests}`));
      },
    },
    { bytesPerSecond: 2_000 },
  );
  const connection = await RawConnection.open(pipe.url);
  connection.write(head.repeat(3));
  const received = await connection.until((all) => (all.endsWith("bod3") ? all : undefined));
  expect(received?.match(/bod\d/g)).toEqual(["bod1", "bod2", "bod3"]);
  expect(pipe.log.last).toBe(3);
  connection.terminate();
});

test("a reset closes the connections with a request that has no response, and nothing of them is in the log", async () => {
  let isAsked = false;
  await using pipe = await start({
    data(socket, chunk) {
      isAsked = true;
      if (chunk.toString().startsWith("GET / ")) socket.write(ok);
    },
  });
  const [idle, waiting, sending] = await Promise.all([1, 2, 3].map(() => RawConnection.open(pipe.url)));
  idle?.write(head);
  await idle?.until((received) => (received.endsWith("body") ? true : undefined));
  isAsked = false;
  waiting?.write("GET /later HTTP/1.1\r\n\r\n");
  await eventually("the request", () => isAsked);
  isAsked = false;
  sending?.write("GE");
  await eventually("the request", () => isAsked);
  pipe.pipe.discardUnfinished();
  expect(await Promise.all([waiting?.closed, sending?.closed])).toEqual(["", ""]);
  idle?.write(head);
  await idle?.until((received) => (received.split("body").length > 2 ? true : undefined));
  expect(Array.from(pipe.log.after(0), ({ connection }) => connection)).toEqual([1, 1]);
  idle?.terminate();
});

test("more requests than are read at once are all answered, in their order", async () => {
  let count = 0;
  let rest = "";
  await using pipe = await start({
    data(socket, chunk) {
      rest += chunk.toString();
      for (let end = rest.indexOf("\r\n\r\n"); end !== -1; end = rest.indexOf("\r\n\r\n")) {
        rest = rest.slice(end + 4);
        socket.write(ok.replace("body", String(1_000 + count++)));
      }
    },
  });
  const connection = await RawConnection.open(pipe.url);
  connection.write(head.repeat(1_000));
  connection.end();
  const received = await connection.closed;
  expect([...(received.match(/\d{4}(?=HTTP|$)/g) ?? [])]).toEqual(
    Array.from({ length: 1_000 }, (_, index) => String(1_000 + index)),
  );
  expect(pipe.log.last).toBe(1_000);
});
