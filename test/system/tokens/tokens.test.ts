// Tokens that are issued, rotated and revoked by the command while two servers run.
// test/integration/store/tokens.test.ts has the rules of a rotation.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { Random } from "../../support/random.ts";
import { stuckCreate } from "../../support/raw-connection.ts";
import {
  type CommandResult,
  plantstore,
  RunningServer,
  runCommand,
  TemporaryFolder,
} from "../../support/server.ts";
import { listedTokens, statesOf } from "../../support/stored-tokens.ts";

const bareToken = /^pst_[A-Za-z0-9_-]{43}\n$/;
/** `npm run faults` kills 200 times. */
const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 5);
/** The moments of the kills; a run prints it. */
const seed = Number(process.env.PLANTSTORE_TEST_SEED ?? Date.now() % 1e9);

async function status(url: string, token: string): Promise<number> {
  return (await post({ url, token }, plantJson(freshId(), "Monstera"))).status;
}

const tokenCommand = (database: string, ...args: string[]) =>
  runCommand(["token", ...args, "--database", database]);

function printed({ exitCode, stdout, stderr }: CommandResult): string {
  // On a busy machine the wait for a concurrent change may be long enough to be reported.
  expect({ exitCode, stdout, stderr: stderr.replace(/^waiting for .*\n/, "") }).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(bareToken),
    stderr: expect.stringMatching(/^Token "[^\n]*It is shown only once[^\n]*\n$/),
  });
  return stdout.trim();
}

for (const engine of engines) {
  // The tests share a store and its two servers; each has a token name of its own.
  describe.concurrent(engine.name, () => {
    const stack = new AsyncDisposableStack();
    let database: string;
    let servers: readonly RunningServer[];
    beforeAll(async () => {
      const place = stack.use(await engine.createTestStore());
      database = place.database;
      servers = await Promise.all([1, 2].map(() => RunningServer.startInProcess(place)));
      for (const server of servers) stack.use(server);
    });
    afterAll(() => stack.disposeAsync());

    const issue = async (name: string) => printed(await tokenCommand(database, "create", "--name", name));
    const rotate = (name: string, ...args: string[]) => tokenCommand(database, "rotate", name, ...args);
    const statuses = (token: string) => Promise.all(servers.map(({ url }) => status(url, token)));

    const isRejected = (token: string) =>
      eventually(
        "the token is rejected on every server",
        () => statuses(token),
        (codes) => codes.every((code) => code === 401),
      );

    test("a new token is accepted at once, and rejected within 2 seconds of its revocation, but for a create whose head has arrived", async () => {
      const [revoked, kept] = [await issue("revoked"), await issue("kept")];
      for (const token of [revoked, kept]) expect(await statuses(token)).toEqual([200, 200]);
      const [server] = servers;
      if (server === undefined) throw new Error("there is no server");
      const body = plantJson(freshId(), "Monstera");
      const framing = `Content-Length: ${body.length}\r\nConnection: close`;
      const create = await stuckCreate({ url: server.url, token: revoked }, framing, body.slice(0, 10));
      expect((await tokenCommand(database, "revoke", "revoked")).exitCode).toBe(0);
      await isRejected(revoked);
      create.write(body.slice(10));
      expect(await create.closed).toStartWith("HTTP/1.1 200 ");
      expect(await statuses(kept)).toEqual([200, 200]);
    });

    test("both tokens are valid on every server during the overlap, and only the new one afterwards", async () => {
      const old = await issue("overlap");
      expect(await statuses(old)).toEqual([200, 200]);
      const newer = printed(await rotate("overlap"));
      for (const token of [newer, old]) expect(await statuses(token)).toEqual([200, 200]);
      expect(await statesOf(database, "overlap")).toEqual(["rotated", "active"]);

      const newest = printed(await rotate("overlap", "--overlap", "1s"));
      for (const token of [old, newer]) await isRejected(token);
      const [, { expires = "" } = {}] = (await listedTokens(database)).filter(
        ({ name }) => name === "overlap",
      );
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires ?? ""));
      expect(await statuses(newest)).toEqual([200, 200]);

      const now = await rotate("overlap", "--overlap", "0s", "--expires", "300d");
      expect(now.stderr).toEndWith("The previous token is rejected within 2 seconds.\n");
      await isRejected(newest);
      expect(await statuses(printed(now))).toEqual([200, 200]);
      const listed = (await listedTokens(database)).findLast(({ name }) => name === "overlap");
      expect((Date.parse(listed?.expires ?? "") - Date.now()) / 86_400_000).toBeCloseTo(300, 1);
    });

    test(`a killed rotation is complete or absent, ${kills} times (PLANTSTORE_TEST_SEED=${seed})`, async () => {
      const tokens = [await issue("killed")];
      const random = new Random(seed);
      const started = performance.now();
      tokens.push(printed(await rotate("killed")));
      const wholeMs = performance.now() - started;
      for (let kill = 0; kill < kills; kill++) {
        const child = Bun.spawn([plantstore, "token", "rotate", "killed", "--database", database], {
          stdout: "pipe",
          stderr: "ignore",
        });
        await Bun.sleep(random.between(0, wholeMs));
        child.kill("SIGKILL");
        const output = await child.stdout.text();
        await child.exited;
        if (bareToken.test(output)) tokens.push(output.trim());
      }
      const states = await statesOf(database, "killed");
      expect(states.filter((state) => state === "active")).toHaveLength(1);
      expect(new Set(states)).toEqual(new Set(["rotated", "active"]));
      for (const token of tokens) expect(await statuses(token)).toEqual([200, 200]);
      printed(await rotate("killed"));
    });
  });
}

test("a token that is not active is not rotated, with an error of one line", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await runCommand(["migrate", "--database", database]);
  printed(await tokenCommand(database, "create", "--name", "brief", "--expires", "1s"));
  await eventually(
    "the token has expired",
    () => statesOf(database, "brief"),
    ([state]) => state === "expired",
  );
  for (const [name, message] of [
    ["brief", 'the token named "brief" has expired; revoke it, and create another with that name'],
    ["none", 'no active token is named "none"; "plantstore token list" lists the active ones'],
  ] as const)
    expect(await tokenCommand(database, "rotate", name)).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `plantstore: ${message}\n`,
    });
});
