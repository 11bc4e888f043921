// The pipe in front of a server that does what the test says: back pressure, and connections that
// end early.

import { expect, test } from "bun:test";
import { Pipe, type WireEffect } from "../../../src/sandbox/pipe.ts";
import { RequestLog } from "../../../src/sandbox/request-log.ts";
import { wireEffect } from "../../../src/sandbox/wire-effects.ts";
import { eventually } from "../../support/eventually.ts";
import { RawConnection } from "../../support/raw-connection.ts";

type Upstream = Bun.Socket<{ received: number; unsent: Buffer }>;

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
  const begin = ({ remotePort }: Upstream, chunk: Buffer) => {
    for (const method of chunk.toString("latin1").match(/(?:GET|POST)(?= \/)/g) ?? []) {
      const length = /(?<=Content-Length: )\d+/.exec(chunk.toString("latin1"))?.[0] ?? "0";
      const request = new Request("http://x/", { method, headers: { "Content-Length": length } });
      const exchange = pipe.begin(request, remotePort);
      if (exchange !== undefined) exchange.effect = effect;
    }
  };
  const server = Bun.listen<{ received: number; unsent: Buffer }>({
    hostname: "127.0.0.1",
    port: 0,
    allowHalfOpen: true,
    socket: {
      open(socket) {
        socket.data = { received: 0, unsent: Buffer.alloc(0) };
        behaviour.open?.(socket);
      },
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

test("a client that does not read stops the server, and gets all bytes when it reads", async () => {
  const length = 64 * 2 ** 20;
  let sent = 0;
  const chunk = Buffer.alloc(2 ** 20, "x");
  const send = (socket: Upstream) => {
    for (let written = 1; written > 0 && sent < length; sent += written)
      written = Math.max(0, socket.write(chunk.subarray(0, Math.min(chunk.length, length - sent))));
  };
  await using pipe = await start({
    data(socket) {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`);
      send(socket);
    },
    drain: send,
  });
  let received = 0;
  const client = await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(pipe.url).port),
    socket: {
      data(_, bytes) {
        received += bytes.length;
      },
    },
  });
  client.pause();
  client.write(head);
  await eventually("the first bytes", () => sent > 0);
  // What the buffers of four sockets hold.
  expect(await settled(() => sent)).toBeLessThan(24 * 2 ** 20);
  client.resume();
  const all = length + `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`.length;
  await eventually(
    "all bytes",
    () => received,
    (bytes) => bytes >= all,
  );
  expect([...pipe.log.after(0)]).toMatchObject([{ ended: "complete", response: { length: all } }]);
  client.end();
}, 30_000);

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
  let sent = 0;
  const chunk = Buffer.alloc(2 ** 20, "x");
  const write = (socket: Bun.Socket<undefined>) => {
    for (let written = 1; written > 0 && sent < length; sent += written)
      written = Math.max(0, socket.write(chunk.subarray(0, Math.min(chunk.length, length - sent))));
  };
  const client = await Bun.connect<undefined>({
    hostname: "127.0.0.1",
    port: Number(new URL(pipe.url).port),
    socket: { data: () => undefined, drain: write },
  });
  client.write(`POST / HTTP/1.1\r\nContent-Length: ${length}\r\n\r\n`);
  write(client);
  expect(await settled(() => sent)).toBeLessThan(24 * 2 ** 20);
  socket?.resume();
  await eventually(
    "all bytes",
    () => received,
    (bytes) => bytes >= length,
  );
  client.end();
}, 30_000);

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

test("interim responses come before the final one, whose effects do not change them", async () => {
  await using pipe = await start(
    { data: (socket) => void socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok}`) },
    wireEffect({ body: "truncated" }),
  );
  const connection = await RawConnection.open(pipe.url);
  connection.write(head);
  const received = await connection.closed;
  expect(received).toBe(`HTTP/1.1 100 Continue\r\n\r\n${ok.slice(0, -2)}`);
  const [entry] = pipe.log.after(0);
  expect(entry?.response.bytes.toString()).toBe(received);
  expect(entry?.ended).toBe("truncated");
});

test("an interim response that was sent before the final one is in the log with it", async () => {
  await using pipe = await start(
    {
      data(socket) {
        socket.write("HTTP/1.1 100 Continue\r\n\r\n");
        setTimeout(() => socket.write(ok), 20);
      },
    },
    wireEffect({ body: "wrongLength" }),
  );
  const connection = await RawConnection.open(pipe.url);
  connection.write(head);
  expect(await connection.closed).toBe(`HTTP/1.1 100 Continue\r\n\r\n${ok.replace("4", "3")}`);
  const [entry] = pipe.log.after(0);
  expect(entry?.response.bytes.toString()).toBe(connection.received);
});

test("responses behind one that is slowed down come after it, in their order", async () => {
  let requests = 0;
  await using pipe = await start(
    {
      data(socket, chunk) {
        const count = chunk.toString().split("GET").length - 1;
        for (let each = 0; each < count; each++) socket.write(ok.replace("body", `bod${++requests}`));
      },
    },
    wireEffect({ bytesPerSecond: 2_000 }),
  );
  const connection = await RawConnection.open(pipe.url);
  connection.write(head.repeat(3));
  const received = await connection.until((all) => (all.endsWith("bod3") ? all : undefined));
  expect(received?.match(/bod\d/g)).toEqual(["bod1", "bod2", "bod3"]);
  expect(pipe.log.last).toBe(3);
  connection.terminate();
});

test("a client that goes while its response is slowed down is in the log with what it got, and the timer is stopped", async () => {
  let isAnswered = false;
  const data = (socket: Upstream) => {
    isAnswered = true;
    socket.write(ok);
  };
  await using pipe = await start({ data }, wireEffect({ bytesPerSecond: 1 }));
  const connection = await RawConnection.open(pipe.url);
  connection.write(head);
  await eventually("the response", () => isAnswered);
  connection.terminate();
  await pipe.log.waitFor(0, AbortSignal.timeout(5_000));
  expect([...pipe.log.after(0)]).toMatchObject([{ ended: "clientAborted", response: { length: 0 } }]);
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
