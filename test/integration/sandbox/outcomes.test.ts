// Effects of forced outcomes on the store and on the connection.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { eventually } from "../../support/eventually.ts";
import { type Answer, freshId, plantJson, post } from "../../support/http.ts";
import { createHead, RawConnection, rawAnswers } from "../../support/raw-connection.ts";
import { loggedRequests, RunningSandbox, requestPage } from "../../support/sandbox.ts";

const resources = new AsyncDisposableStack();
let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = resources.use(await RunningSandbox.startInProcess());
});
afterAll(() => resources.disposeAsync());
beforeEach(async () => {
  expect((await sandbox.control("POST", "/reset")).status).toBe(204);
});

/** Sets the only rule. */
async function force(rule: object): Promise<void> {
  const { status, text } = await sandbox.control("PUT", "/rules", { rules: [rule] });
  expect([status, text]).toEqual([200, expect.anything()]);
}

async function isStored(id: bigint): Promise<boolean> {
  return (await sandbox.control("GET", `/plants/${id}`)).status === 200;
}

/** Sends a create, on a connection of its own unless one is given. */
async function sendCreate(id: bigint, open?: RawConnection): Promise<RawConnection> {
  const connection = open ?? (await RawConnection.open(sandbox.url));
  const body = plantJson(id, "Monstera", "tropical");
  connection.write(createHead(sandbox, `Content-Length: ${body.length}`) + body);
  return connection;
}

/** Waits for some number of responses; undefined if the connection is closed before. */
const answers = (connection: RawConnection, count = 1) =>
  connection.until((received) => (rawAnswers(received).answers.length === count ? true : undefined));

/**
 * Everything that comes back to one create, until the connection is closed or there is a response.
 */
async function createRaw(id: bigint): Promise<{ received: string; isClosed: boolean }> {
  const connection = await sendCreate(id);
  const isClosed = (await answers(connection)) === undefined;
  connection.terminate();
  return { received: connection.received, isClosed };
}

/** Waits until every rule was applied. */
async function untilApplied(target = sandbox): Promise<void> {
  await eventually("the rules are applied", async () => {
    const { json } = await target.control("GET", "/rules");
    return (json as { rules: { applied: bigint }[] }).rules.every(({ applied }) => applied > 0n);
  });
}

const retried = (id: bigint) => post(sandbox, plantJson(id, "Monstera", "tropical"));
const statusOf = ({ status }: Answer) => status;
const plantBody = '{"name":"Monstera","tag":"tropical"}';

async function lastRequest() {
  const [entry] = await loggedRequests(sandbox, 1);
  return entry;
}

describe("the store", () => {
  test.each([
    ["an error", { error: 50300 }, false, "complete"],
    ["an error after the commit", { error: 50300, commit: true }, true, "complete"],
    ["an example after the commit", { example: "withoutTag", commit: true }, true, "complete"],
    ["a delay before the commit", { delay: { seconds: 0.05 } }, true, "complete"],
    ["a delay after the commit", { delay: { seconds: 0.05, when: "after" } }, true, "complete"],
    ["a connection dropped before the commit", { drop: "beforeCommit" }, false, "dropped"],
    ["a connection dropped after the commit", { drop: "afterCommit" }, true, "dropped"],
    ["a response after the commit", { response: { status: 502 }, commit: true }, true, "complete"],
    ["a truncated body", { body: "truncated" }, true, "truncated"],
    ["a broken chunk", { body: "brokenChunk" }, true, "truncated"],
    ["a wrong length", { body: "wrongLength" }, true, "complete"],
    ["slow bytes", { bytesPerSecond: 5_000 }, true, "complete"],
    ["a truncated error", { error: 50300, body: "truncated" }, false, "truncated"],
  ])("%s: stored or not as documented, and a retry succeeds", async (_, outcome, isStoredAfter, ended) => {
    const id = freshId();
    await force({ times: 1, outcome });
    const { received } = await createRaw(id);
    const entry = await lastRequest();
    expect(entry).toMatchObject({ ended, forced: { rule: expect.stringMatching(/^r\d+$/) } });
    const body = entry?.response?.body ?? "";
    if (ended === "dropped") expect(received).toBe("");
    else expect(received).toContain(`\r\n\r\n${received.includes("\r\nbroken") ? "12\r\n" : ""}${body}`);
    expect(await isStored(id)).toBe(isStoredAfter);
    expect(await retried(id).then(statusOf)).toBe(200);
    expect(await isStored(id)).toBe(true);
    const conflict = await post(sandbox, plantJson(id, "other"));
    expect(conflict.json).toMatchObject({ error: 40009 });
    expect(await sandbox.resources()).toEqual([{ id, name: "Monstera", tag: "tropical" }]);
  });

  test("an error after the commit of an equal plant, and of a conflict, which gets its own error", async () => {
    const id = freshId();
    await retried(id);
    await force({ outcome: { error: 50300, commit: true } });
    expect(await retried(id).then(statusOf)).toBe(503);
    const conflict = await post(sandbox, plantJson(id, "other"));
    expect(conflict.json).toMatchObject({ error: 40009 });
    expect(await sandbox.resources()).toEqual([{ id, name: "Monstera", tag: "tropical" }]);
    expect(await post(sandbox, plantJson(1n, "a"), { Authorization: "" }).then(statusOf)).toBe(401);
  });

  test("with a delay after the commit the plant is stored while the client waits", async () => {
    const id = freshId();
    await force({ outcome: { delay: { seconds: 60, when: "after" } } });
    const connection = await sendCreate(id);
    await eventually("the plant is stored", () => isStored(id));
    expect(connection.received).toBe("");
    connection.terminate();
    expect(await lastRequest()).toMatchObject({ ended: "clientAborted", response: null });
  });
});

describe("the connection", () => {
  test.each([
    ["truncated", `content-length: ${plantBody.length}`, plantBody.slice(0, plantBody.length / 2)],
    ["wrongLength", `content-length: ${plantBody.length - 1}`, plantBody],
    ["brokenChunk", "transfer-encoding: chunked", `12\r\n${plantBody.slice(0, 18)}\r\nbroken\r\n`],
  ])("the body %p has %p, and the connection is closed after it", async (body, framing, end) => {
    await force({ outcome: { body } });
    const received = await (await sendCreate(freshId())).closed;
    expect(received.match(/(?:content-length|transfer-encoding): .*(?=\r)/g)).toEqual([framing]);
    expect(received).toEndWith(`\r\n\r\n${end}`);
  });

  test("garbage is sent in place of a response, whose plant is stored", async () => {
    const id = freshId();
    await force({ times: 1, outcome: { body: "garbage" } });
    const connection = await sendCreate(id);
    expect(Buffer.from(await connection.closed, "latin1").toString("hex")).toBe("15030300020246");
    expect(await isStored(id)).toBe(true);
    expect(await lastRequest()).toMatchObject({ ended: "complete", response: { status: null } });
  });

  test.each([
    [true, "ECONNRESET"],
    [false, undefined],
  ])("a dropped connection with reset %p ends with %p", async (reset, code) => {
    await force({ outcome: { drop: "afterCommit", reset } });
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const { hostname, port } = new URL(sandbox.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    socket.on("end", () => resolve(undefined));
    const body = plantJson(freshId(), "Monstera");
    socket.write(createHead(sandbox, `Content-Length: ${body.length}`) + body);
    expect(await promise).toBe(code);
    socket.destroy();
    expect(await lastRequest()).toMatchObject({ ended: "dropped", response: null });
  });

  test("is dropped after the response to the request before", async () => {
    const rules = [{ times: 1, outcome: { delay: { seconds: 0.1 } } }, { outcome: { drop: "beforeCommit" } }];
    await sandbox.control("PUT", "/rules", { rules });
    const connection = await sendCreate(freshId());
    await sendCreate(freshId(), connection);
    expect(rawAnswers(await connection.closed)).toMatchObject({ answers: [{ status: 200 }], rest: "" });
    expect(await loggedRequests(sandbox, 2)).toMatchObject([{ ended: "complete" }, { ended: "dropped" }]);
  });
});

describe("matching", () => {
  test("where a rule depends on the plant, other requests have the errors that they have without it", async () => {
    await force({ match: { id: 1 }, outcome: { error: 50300 } });
    expect((await post(sandbox, "{")).json).toMatchObject({ error: 40001 });
    expect((await post(sandbox, `"${"x".repeat(2 ** 20)}"`)).json).toMatchObject({ error: 41300 });
    expect(await post(sandbox, plantJson(2n, "a"), { Authorization: "" }).then(statusOf)).toBe(401);
    expect(await post(sandbox, plantJson(2n, "a"), { "Content-Type": "text/plain" }).then(statusOf)).toBe(
      415,
    );
    const chunked = await fetch(`${sandbox.url}/plants`, {
      method: "POST",
      headers: { Authorization: `Bearer ${sandbox.token}`, "Content-Type": "application/json" },
      body: new Blob([plantJson(2n, "é\u2028")]).stream(),
    });
    expect(await chunked.json()).toEqual({ name: "é\u2028" });
    expect(await post(sandbox, plantJson(1n, "a")).then(statusOf)).toBe(503);
  });

  test("Prefer comes before rules, which it does not use up", async () => {
    await force({ times: 1, outcome: { error: 50000 } });
    const prefer = { Prefer: 'respond-async, code="503"; x, delay=0.02' };
    expect(await post(sandbox, plantJson(1n, "a"), prefer).then(statusOf)).toBe(503);
    expect(await lastRequest()).toMatchObject({ forced: { prefer: "code=503, delay=0.02" }, error: 50300 });
    expect(await post(sandbox, plantJson(1n, "a"), { Prefer: "return=minimal" }).then(statusOf)).toBe(500);
  });
});

describe("a reset ends what came before", () => {
  test.each([
    ["before the commit", { delay: { seconds: 3_000 } }],
    ["after the commit", { delay: { seconds: 3_000, when: "after" } }],
    ["while its response is sent", { bytesPerSecond: 20 }],
  ])("a create that waits %s is closed, and is neither in the store nor in the log", async (_, outcome) => {
    const id = freshId();
    await force({ outcome });
    const connection = await sendCreate(id);
    await untilApplied();
    expect((await sandbox.control("POST", "/reset")).status).toBe(204);
    await connection.closed;
    expect(await sandbox.resources()).toEqual([]);
    expect((await requestPage(sandbox)).requests).toEqual([]);
    expect(await post(sandbox, plantJson(id, "another")).then(statusOf)).toBe(200);
    expect(await requestPage(sandbox)).toMatchObject({ requests: [{ ended: "complete", forced: null }] });
  });
});

test("a sandbox with delayed requests stops, and answers those that are pending before", async () => {
  await using other = await RunningSandbox.startInProcess({ args: ["--drain-seconds-max", "1"] });
  const rules = [
    { match: { id: 1 }, outcome: { delay: { seconds: 3_000 } } },
    { match: { id: 2 }, outcome: { delay: { seconds: 3_000, when: "after" } } },
    { match: { id: 3 }, outcome: { delay: { seconds: 0.3 } } },
  ];
  await other.control("PUT", "/rules", { rules });
  const [before, after, short] = [1n, 2n, 3n].map((id) => post(other, plantJson(id, "Monstera")));
  const failed = Promise.all([before, after].map((create) => create?.catch(() => "failed")));
  await untilApplied(other);
  await eventually("a plant is stored", async () => (await other.resources()).length > 0);
  expect((await other.stop()).exitCode).toBe(0);
  expect(await failed).toEqual(["failed", "failed"]);
  expect((await short)?.status).toBe(200);
});
