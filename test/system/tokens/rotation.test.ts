// `plantstore token rotate` while servers run: two valid tokens during the overlap, one afterwards,
// and never none.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listedTokens, statesOf } from "../../support/commands.ts";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { Random } from "../../support/random.ts";
import { type CommandResult, plantstore, RunningServer, runCommand } from "../../support/server.ts";

const bareToken = /^pst_[A-Za-z0-9_-]{43}\n$/;
/** `npm run faults` kills 200 times. */
const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 5);
/** The moments of the kills; a run prints it. */
const seed = Number(process.env.PLANTSTORE_TEST_SEED ?? Date.now() % 1e9);
const day = 86_400_000;

async function status(url: string, token: string): Promise<number> {
  return (await post({ url, token }, plantJson(freshId(), "Monstera"))).status;
}

/** Waits until a token is rejected. */
async function refused(url: string, token: string): Promise<void> {
  await eventually(
    "the token is rejected",
    () => status(url, token),
    (code) => code === 401,
  );
}

const rotate = (database: string, name: string, ...args: string[]) =>
  runCommand(["token", "rotate", name, ...args, "--database", database]);

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
  describe(engine.name, () => {
    const stack = new AsyncDisposableStack();
    let database: string;
    let first: RunningServer;
    let second: RunningServer;
    beforeAll(async () => {
      const place = stack.use(await engine.createTestStore());
      database = place.database;
      first = stack.use(await RunningServer.startInProcess(place));
      second = stack.use(await RunningServer.startInProcess(place));
    });
    afterAll(() => stack.disposeAsync());

    const tokensOf = async (name: string) =>
      (await listedTokens(database)).filter((token) => token.name === name);

    test("both tokens are valid on every server during the overlap, and only the new one afterwards", async () => {
      const old = printed(await runCommand(["token", "create", "--name", "overlap", "--database", database]));
      for (const { url } of [first, second]) expect(await status(url, old)).toBe(200);
      const newer = printed(await rotate(database, "overlap"));
      for (const { url } of [first, second])
        for (const token of [newer, old]) expect(await status(url, token)).toBe(200);
      const [before, now] = await tokensOf("overlap");
      expect(before).toMatchObject({ name: "overlap", state: "rotated", revoked: null });
      expect(now).toMatchObject({ name: "overlap", state: "active", expires: null, revoked: null });
      expect(Date.parse(before?.expires ?? "") - Date.parse(now?.created ?? "")).toBe(7 * day);

      const newest = printed(await rotate(database, "overlap", "--overlap", "2s"));
      const end = Date.parse((await tokensOf("overlap"))[1]?.expires ?? "");
      for (const { url } of [first, second]) {
        for (const token of [old, newer]) await refused(url, token);
        expect(Date.now()).toBeGreaterThanOrEqual(end);
        expect(await status(url, newest)).toBe(200);
      }
      expect(await statesOf(database, "overlap")).toEqual(["expired", "expired", "active"]);
    });

    test("without an overlap the old token is rejected, on every server", async () => {
      const old = await first.createToken("no overlap");
      for (const { url } of [first, second]) expect(await status(url, old)).toBe(200);
      const result = await rotate(database, "no overlap", "--overlap", "0s");
      expect(result.stderr).toEndWith("The previous token is rejected within 2 seconds.\n");
      await Promise.all([first, second].map(({ url }) => refused(url, old)));
      for (const { url } of [first, second]) expect(await status(url, printed(result))).toBe(200);
    });

    test("the new token has the lifetime of the old one, or --expires; an earlier expiry of the old one stays", async () => {
      await first.createToken("lifetime", 3_600_000);
      const own = (await tokensOf("lifetime"))[0]?.expires;
      printed(await rotate(database, "lifetime"));
      printed(await rotate(database, "lifetime", "--expires", "never"));
      printed(await rotate(database, "lifetime", "--expires", "2099-01-31"));
      const tokens = await tokensOf("lifetime");
      expect(tokens[0]?.expires).toBe(own ?? "");
      const [life, sameLife] = tokens.map(
        ({ created, expires }) => Date.parse(expires ?? "") - Date.parse(created),
      );
      expect(sameLife).toBe(life ?? 0);
      expect(tokens.map(({ state }) => state)).toEqual(["rotated", "rotated", "rotated", "active"]);
      expect(tokens[3]?.expires).toBe("2099-01-31T00:00:00.000Z");
    });

    test("revoking the name revokes the old and the new token at any time, and the name can be used again", async () => {
      const old = await first.createToken("revoked");
      const newer = printed(await rotate(database, "revoked"));
      for (const token of [old, newer]) expect(await status(first.url, token)).toBe(200);
      expect((await first.command("token", "revoke", "revoked")).exitCode).toBe(0);
      for (const token of [old, newer]) await refused(first.url, token);

      await first.createToken("revoked");
      await Promise.all([rotate(database, "revoked"), first.command("token", "revoke", "revoked")]);
      expect(new Set(await statesOf(database, "revoked"))).toEqual(new Set(["revoked"]));
    });

    test("concurrent rotations are serialized: all tokens are printed, and one has no expiry", async () => {
      const tokens = [await first.createToken("concurrent")];
      const results = await Promise.all(Array.from({ length: 4 }, () => rotate(database, "concurrent")));
      tokens.push(...results.map(printed));
      expect(new Set(tokens).size).toBe(5);
      for (const token of tokens) expect(await status(first.url, token)).toBe(200);
      expect(await statesOf(database, "concurrent")).toEqual([...Array(4).fill("rotated"), "active"]);

      await Promise.all(Array.from({ length: 4 }, () => rotate(database, "concurrent", "--overlap", "0s")));
      expect(await statesOf(database, "concurrent")).toEqual([...Array(8).fill("expired"), "active"]);
    });

    test("a token that is not active is not rotated, with an error of one line", async () => {
      const refusal = async (message: string) =>
        expect(await rotate(database, "ended")).toEqual({
          exitCode: 1,
          stdout: "",
          stderr: `plantstore: ${message}\n`,
        });
      const none = 'no active token is named "ended"; "plantstore token list" lists the active ones';
      await first.createToken("other");
      await refusal(none);
      await first.createToken("ended", 1);
      await eventually(
        "the token has expired",
        () => statesOf(database, "ended"),
        ([state]) => state === "expired",
      );
      await refusal('the token named "ended" has expired; revoke it, and create another with that name');
      await first.command("token", "revoke", "ended");
      await refusal(none);
      await first.createToken("ended");
    });

    test("a token that could not be printed is revoked, and the previous one stays valid", async () => {
      const old = await first.createToken("unprinted");
      const full = Bun.spawn(
        ["sh", "-c", `${plantstore} token rotate unprinted --overlap 0s --database ${database} >/dev/full`],
        { stderr: "pipe" },
      );
      expect(await full.stderr.text()).toBe(
        "plantstore: the token could not be printed (ENOSPC), and is revoked; the previous token is unchanged; try again\n",
      );
      expect(await full.exited).toBe(1);

      const unread = Bun.spawn([plantstore, "token", "rotate", "unprinted", "--database", database], {
        stdout: "pipe",
        stderr: "pipe",
      });
      // Before the command writes to it.
      await unread.stdout.cancel();
      expect(await unread.stderr.text()).toContain("could not be printed (EPIPE), and is revoked");
      expect(await unread.exited).toBe(1);

      expect(await statesOf(database, "unprinted")).toEqual(["active", "revoked", "revoked"]);
      await eventually(
        "the previous token is accepted",
        () => status(first.url, old),
        (code) => code === 200,
      );
      printed(await rotate(database, "unprinted"));
    });

    test(`a killed rotation is complete or absent, ${kills} times (PLANTSTORE_TEST_SEED=${seed})`, async () => {
      const tokens = [await first.createToken("killed")];
      const random = new Random(seed);
      const started = performance.now();
      tokens.push(printed(await rotate(database, "killed")));
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
      for (const token of tokens) expect(await status(first.url, token)).toBe(200);
      printed(await rotate(database, "killed"));
    }, 120_000);
  });
}
