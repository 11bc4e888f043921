// The recorder in front of a server that does what the test says: back pressure, and connections that end early.

import { expect, test } from "bun:test";
import { type MarkedRequest, type ResponseEffects, startRecorder } from "../../../src/sandbox/recorder.ts";
import { RequestLog } from "../../../src/sandbox/request-log.ts";
import { RawConnection } from "../../support/raw-connection.ts";

type Upstream = Bun.Socket<{ received: number; unsent: Buffer }>;

interface Behaviour {
  /** Called with all bytes of a connection so far. */
  readonly data?: (socket: Upstream, chunk: Buffer) => void;
  readonly open?: (socket: Upstream) => void;
  readonly drain?: (socket: Upstream) => void;
  readonly close?: () => void;
}

/** A recorder in front of a server, both closed with the scope. */
async function start(behaviour: Behaviour, effects?: ResponseEffects) {
  const log = new RequestLog();
  const server = Bun.listen<{ received: number; unsent: Buffer }>({
    hostname: "127.0.0.1",
    port: 0,
    allowHalfOpen: true,
    socket: {
      open(socket) {
        socket.data = { received: 0, unsent: Buffer.alloc(0) };
        behaviour.open?.(socket);
      },
      data: (socket, chunk) => behaviour.data?.(socket, chunk),
      drain: (socket) => behaviour.drain?.(socket),
      end: (socket) => void socket.end(),
      close: () => behaviour.close?.(),
      error: () => undefined,
    },
  });
  const forgotten: string[] = [];
  const mark = (): MarkedRequest => ({
    field: "X-Mark: 1\r\n",
    effects,
    forced: undefined,
    forget: () => forgotten.push("forgotten"),
  });
  const recorder = startRecorder({
    ...{ host: "127.0.0.1", port: 0, serverPort: server.port, log },
    mark: () => (effects === undefined ? undefined : mark()),
  });
  return {
    ...{ log, forgotten, url: recorder.origin },
    async [Symbol.asyncDispose]() {
      await recorder.stop();
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
  await using recorder = await start({
    data(socket) {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`);
      send(socket);
    },
    drain: send,
  });
  let received = 0;
  const client = await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(recorder.url).port),
    socket: {
      data(_, bytes) {
        received += bytes.length;
      },
    },
  });
  client.pause();
  client.write(head);
  while (sent === 0) await Bun.sleep(5);
  // What the buffers of four sockets hold.
  expect(await settled(() => sent)).toBeLessThan(24 * 2 ** 20);
  client.resume();
  const all = length + `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`.length;
  while (received < all) await Bun.sleep(5);
  expect([...recorder.log.after(0)]).toMatchObject([{ ended: "complete", response: { length: all } }]);
  client.end();
}, 30_000);

test("a server that does not read stops the client", async () => {
  let socket: Upstream | undefined;
  let received = 0;
  await using recorder = await start({
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
    port: Number(new URL(recorder.url).port),
    socket: { data: () => undefined, drain: write },
  });
  client.write(`POST / HTTP/1.1\r\nContent-Length: ${length}\r\n\r\n`);
  write(client);
  expect(await settled(() => sent)).toBeLessThan(24 * 2 ** 20);
  socket?.resume();
  while (received < length) await Bun.sleep(10);
  client.end();
}, 30_000);

test("a client that resets the connection ends that to the server, and is in the log", async () => {
  let [asked, closed] = [0, 0];
  await using recorder = await start({ data: () => asked++, close: () => closed++ });
  const connections = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(recorder.url)));
  for (const connection of connections) connection.write(head);
  while (asked < 20) await Bun.sleep(5);
  for (const connection of connections) connection.terminate();
  while (closed < 20 || recorder.log.last < 20) await Bun.sleep(5);
  expect(new Set(Array.from(recorder.log.after(0), ({ ended }) => ended))).toEqual(
    new Set(["clientAborted"]),
  );
});

test("a server that ends the connection in a response: the client gets what there is, and the log says so", async () => {
  await using recorder = await start({
    data(socket) {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo");
      socket.end();
    },
  });
  const connection = await RawConnection.open(recorder.url);
  connection.write(head);
  expect(await connection.closed).toBe("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo");
  expect([...recorder.log.after(0)]).toMatchObject([{ ended: "truncated" }]);
});

test("a response until the end of the connection is complete, as is a tunnel", async () => {
  await using recorder = await start({
    data(socket, chunk) {
      if (!chunk.toString().startsWith("GET /tunnel")) {
        socket.write("HTTP/1.0 200 OK\r\n\r\nall of it");
        socket.end();
        return;
      }
      socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 is data");
    },
  });
  const connection = await RawConnection.open(recorder.url);
  connection.write(head);
  expect(await connection.closed).toBe("HTTP/1.0 200 OK\r\n\r\nall of it");
  const tunnel = await RawConnection.open(recorder.url);
  tunnel.write(head.replace("/", "/tunnel"));
  await tunnel.until((received) => (received.endsWith("data") ? true : undefined));
  tunnel.end();
  await tunnel.closed;
  expect(Array.from(recorder.log.after(0), ({ ended, response }) => [ended, response.length])).toEqual([
    ["complete", 28],
    ["complete", 56],
  ]);
});

test("interim responses come before the final one, whose effects do not change them", async () => {
  await using recorder = await start(
    { data: (socket) => void socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok}`) },
    { body: "truncated" },
  );
  const connection = await RawConnection.open(recorder.url);
  connection.write(head);
  const received = await connection.closed;
  expect(received).toBe(`HTTP/1.1 100 Continue\r\n\r\n${ok.slice(0, -2)}`);
  const [entry] = recorder.log.after(0);
  expect(entry?.response.bytes.toString()).toBe(received);
  expect(entry?.ended).toBe("truncated");
});

test("the field of a marked request is added before the empty line, wherever the head is split", async () => {
  for (let at = 1; at < head.length; at++) {
    const seen: Buffer[] = [];
    await using recorder = await start(
      {
        data(socket, chunk) {
          seen.push(Buffer.from(chunk));
          if (Buffer.concat(seen).toString().endsWith("\r\n\r\n")) socket.write(ok);
        },
      },
      {},
    );
    const connection = await RawConnection.open(recorder.url);
    connection.write(head.slice(0, at));
    await Bun.sleep(1);
    connection.write(head.slice(at));
    await connection.until((received) => (received.endsWith("body") ? true : undefined));
    expect(Buffer.concat(seen).toString()).toBe("GET / HTTP/1.1\r\nHost: x\r\nX-Mark: 1\r\n\r\n");
    const [entry] = recorder.log.after(0);
    expect(entry?.request.bytes.toString()).toBe(head);
    expect(recorder.forgotten).toHaveLength(1);
    connection.terminate();
  }
});

test("responses behind one that is held come after it, in their order", async () => {
  let requests = 0;
  await using recorder = await start(
    {
      data(socket, chunk) {
        const count = chunk.toString().split("GET").length - 1;
        for (let each = 0; each < count; each++) socket.write(ok.replace("body", `bod${++requests}`));
      },
    },
    { delayMs: 30 },
  );
  const connection = await RawConnection.open(recorder.url);
  connection.write(head.repeat(3));
  const received = await connection.until((all) => (all.endsWith("bod3") ? all : undefined));
  expect(received?.match(/bod\d/g)).toEqual(["bod1", "bod2", "bod3"]);
  expect(recorder.log.last).toBe(3);
  connection.terminate();
});

test("a client that goes while its response is held is in the log as such, and the timer is stopped", async () => {
  let isAnswered = false;
  const data = (socket: Upstream) => {
    isAnswered = true;
    socket.write(ok);
  };
  await using recorder = await start({ data }, { delayMs: 3_600_000 });
  const connection = await RawConnection.open(recorder.url);
  connection.write(head);
  while (!isAnswered) await Bun.sleep(5);
  connection.terminate();
  await recorder.log.waitFor(0, AbortSignal.timeout(5_000));
  expect([...recorder.log.after(0)]).toMatchObject([{ ended: "clientAborted", response: { length: 0 } }]);
});

test("more requests than are read at once are all answered, in their order", async () => {
  let count = 0;
  let rest = "";
  await using recorder = await start({
    data(socket, chunk) {
      rest += chunk.toString();
      for (let end = rest.indexOf("\r\n\r\n"); end !== -1; end = rest.indexOf("\r\n\r\n")) {
        rest = rest.slice(end + 4);
        socket.write(ok.replace("body", String(1_000 + count++)));
      }
    },
  });
  const connection = await RawConnection.open(recorder.url);
  connection.write(head.repeat(1_000));
  connection.end();
  const received = await connection.closed;
  expect([...(received.match(/\d{4}(?=HTTP|$)/g) ?? [])]).toEqual(
    Array.from({ length: 1_000 }, (_, index) => String(1_000 + index)),
  );
  expect(recorder.log.last).toBe(1_000);
});

test("a client that pipelines without end to a server that does not answer is stopped, and may leave", async () => {
  let received = 0;
  let closed = false;
  await using recorder = await start({
    data: (_, chunk) => (received += chunk.length),
    close: () => {
      closed = true;
    },
  });
  const connection = await RawConnection.open(recorder.url);
  connection.write(head.repeat(1_000_000));
  expect(await settled(() => received)).toBe(64 * head.length);
  connection.terminate();
  while (!closed) await Bun.sleep(5);
  await recorder.log.waitFor(63, AbortSignal.timeout(5_000));
  expect(new Set(Array.from(recorder.log.after(0), ({ ended }) => ended))).toEqual(
    new Set(["clientAborted"]),
  );
});
