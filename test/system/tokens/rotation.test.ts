// `plantstore token rotate` while servers run: two valid tokens during the overlap, one afterwards, and never none.

import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { Random } from "../../support/random.ts";
import { createStore, plantstore, RunningServer, run } from "../../support/server.ts";
import { listedTokens, statesOf } from "../../support/token-list.ts";

const bareToken = /^pst_[A-Za-z0-9_-]{43}\n$/;
/** `npm run faults` kills 200 times. */
const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 5);
/** The moments of the kills; a run prints it. */
const seed = Number(process.env.PLANTSTORE_TEST_SEED ?? Date.now() % 1e9);
const day = 86_400_000;

for (const engine of engines) {
  describe(engine.name, () => {
    async function status(url: string, token: string): Promise<number> {
      return (await post({ url, token }, plantJson(freshId(), "Monstera"))).status;
    }

    /** Waits until a token is rejected; the timeout is the test's. */
    async function refused(url: string, token: string): Promise<void> {
      while ((await status(url, token)) !== 401) await Bun.sleep(20);
    }

    const create = async (database: string, name: string, ...args: string[]): Promise<string> =>
      printed(await run(["token", "create", "--name", name, ...args, "--database", database]));
    const rotate = (database: string, name: string, ...args: string[]) =>
      run(["token", "rotate", name, ...args, "--database", database]);

    function printed({ exitCode, stdout, stderr }: Awaited<ReturnType<typeof run>>): string {
      expect({ exitCode, stdout, stderr }).toEqual({
        exitCode: 0,
        stdout: expect.stringMatching(bareToken),
        stderr: expect.stringMatching(/^Token "[^\n]*It is shown only once[^\n]*\n$/),
      });
      return stdout.trim();
    }

    test("both tokens are valid on every server during the overlap, and only the new one afterwards", async () => {
      await using place = await engine.createTestStore();
      const { database } = place;
      await using first = await RunningServer.start(place);
      await using second = await RunningServer.start(place);
      const old = await create(database, "ci");
      for (const { url } of [first, second]) expect(await status(url, old)).toBe(200);
      const newer = printed(await rotate(database, "ci"));
      for (const { url } of [first, second])
        for (const token of [newer, old]) expect(await status(url, token)).toBe(200);
      const [, before, now] = await listedTokens(database);
      expect(before).toMatchObject({ name: "ci", state: "rotated", revoked: null });
      expect(now).toMatchObject({ name: "ci", state: "active", expires: null, revoked: null });
      expect(Date.parse(before?.expires ?? "") - Date.parse(now?.created ?? "")).toBe(7 * day);

      const newest = printed(await rotate(database, "ci", "--overlap", "2s"));
      const end = Date.parse((await listedTokens(database))[2]?.expires ?? "");
      for (const { url } of [first, second]) {
        for (const token of [old, newer]) await refused(url, token);
        expect(Date.now()).toBeGreaterThanOrEqual(end);
        expect(await status(url, newest)).toBe(200);
      }
      expect(await statesOf(database, "ci")).toEqual(["expired", "expired", "active"]);
    });

    test("without an overlap the old token is rejected, on every server", async () => {
      await using place = await engine.createTestStore();
      await using first = await RunningServer.start(place);
      await using second = await RunningServer.start(place);
      const old = await create(place.database, "ci");
      for (const { url } of [first, second]) expect(await status(url, old)).toBe(200);
      const result = await rotate(place.database, "ci", "--overlap", "0s");
      expect(result.stderr).toEndWith("The previous token is rejected within 2 seconds.\n");
      await Promise.all([first, second].map(({ url }) => refused(url, old)));
      for (const { url } of [first, second]) expect(await status(url, printed(result))).toBe(200);
    });

    test("the new token has the lifetime of the old one, or --expires; an earlier expiry of the old one stays", async () => {
      await using place = await engine.createTestStore();
      const { database } = place;
      await createStore(database);
      await create(database, "ci", "--expires", "1h");
      const own = (await listedTokens(database))[0]?.expires;
      printed(await rotate(database, "ci"));
      printed(await rotate(database, "ci", "--expires", "never"));
      printed(await rotate(database, "ci", "--expires", "2099-01-31"));
      const tokens = await listedTokens(database);
      expect(tokens[0]?.expires).toBe(own ?? "");
      const [life, sameLife] = tokens.map(
        ({ created, expires }) => Date.parse(expires ?? "") - Date.parse(created),
      );
      expect(sameLife).toBe(life ?? 0);
      expect(tokens.map(({ state }) => state)).toEqual(["rotated", "rotated", "rotated", "active"]);
      expect(tokens[3]?.expires).toBe("2099-01-31T00:00:00.000Z");
    });

    test("revoking the name revokes the old and the new token at any time, and the name can be used again", async () => {
      await using place = await engine.createTestStore();
      const { database } = place;
      await using server = await RunningServer.start(place);
      const old = await create(database, "ci");
      const newer = printed(await rotate(database, "ci"));
      for (const token of [old, newer]) expect(await status(server.url, token)).toBe(200);
      expect((await run(["token", "revoke", "ci", "--database", database])).exitCode).toBe(0);
      for (const token of [old, newer]) await refused(server.url, token);

      await create(database, "ci");
      await Promise.all([rotate(database, "ci"), run(["token", "revoke", "ci", "--database", database])]);
      expect(new Set(await statesOf(database, "ci"))).toEqual(new Set(["revoked"]));
    });

    test("concurrent rotations are serialized: all tokens are printed, and one has no expiry", async () => {
      await using place = await engine.createTestStore();
      const { database } = place;
      await using server = await RunningServer.start(place);
      const tokens = [await create(database, "ci")];
      const results = await Promise.all(Array.from({ length: 5 }, () => rotate(database, "ci")));
      tokens.push(...results.map(printed));
      expect(new Set(tokens).size).toBe(6);
      for (const token of tokens) expect(await status(server.url, token)).toBe(200);
      expect(await statesOf(database, "ci")).toEqual([...Array(5).fill("rotated"), "active"]);

      await Promise.all(Array.from({ length: 5 }, () => rotate(database, "ci", "--overlap", "0s")));
      expect(await statesOf(database, "ci")).toEqual([...Array(10).fill("expired"), "active"]);
    });

    test("a token that is not active is not rotated, with an error of one line", async () => {
      await using place = await engine.createTestStore();
      const { database } = place;
      await createStore(database);
      const refusal = async (message: string) =>
        expect(await rotate(database, "ci")).toEqual({
          exitCode: 1,
          stdout: "",
          stderr: `plantstore: ${message}\n`,
        });
      const none = 'no active token is named "ci"; "plantstore token list" lists the active ones';
      await create(database, "other");
      await refusal(none);
      await create(database, "ci", "--expires", "1s");
      while ((await statesOf(database, "ci"))[0] !== "expired") await Bun.sleep(20);
      await refusal('the token named "ci" has expired; revoke it, and create another with that name');
      await run(["token", "revoke", "ci", "--database", database]);
      await refusal(none);
      await create(database, "ci");
    });

    test("a token that could not be printed is revoked, and the previous one stays valid", async () => {
      await using place = await engine.createTestStore();
      const { database } = place;
      await using server = await RunningServer.start(place);
      const old = await create(database, "ci");
      const fully = Bun.spawn(
        ["sh", "-c", `${plantstore} token rotate ci --overlap 0s --database ${database} >/dev/full`],
        { stderr: "pipe" },
      );
      expect(await fully.stderr.text()).toBe(
        "plantstore: the token could not be printed (ENOSPC), and is revoked; the previous token is unchanged; try again\n",
      );
      expect(await fully.exited).toBe(1);

      const unread = Bun.spawn([plantstore, "token", "rotate", "ci", "--database", database], {
        stdout: "pipe",
        stderr: "pipe",
      });
      // Before the command writes to it.
      await unread.stdout.cancel();
      expect(await unread.stderr.text()).toContain("could not be printed (EPIPE), and is revoked");
      expect(await unread.exited).toBe(1);

      expect(await statesOf(database, "ci")).toEqual(["active", "revoked", "revoked"]);
      while ((await status(server.url, old)) !== 200) await Bun.sleep(20);
      printed(await rotate(database, "ci"));
    });

    test(`a killed rotation is complete or absent, ${kills} times (PLANTSTORE_TEST_SEED=${seed})`, async () => {
      await using place = await engine.createTestStore();
      const { database } = place;
      await using server = await RunningServer.start(place);
      const tokens = [await create(database, "ci")];
      const random = new Random(seed);
      const started = performance.now();
      tokens.push(printed(await rotate(database, "ci")));
      const wholeMs = performance.now() - started;
      for (let kill = 0; kill < kills; kill++) {
        const child = Bun.spawn([plantstore, "token", "rotate", "ci", "--database", database], {
          stdout: "pipe",
          stderr: "ignore",
        });
        await Bun.sleep(random.between(0, wholeMs));
        child.kill("SIGKILL");
        const output = await child.stdout.text();
        await child.exited;
        if (bareToken.test(output)) tokens.push(output.trim());
      }
      const states = await statesOf(database, "ci");
      expect(states.filter((state) => state === "active")).toHaveLength(1);
      expect(new Set(states)).toEqual(new Set(["rotated", "active"]));
      for (const token of tokens) expect(await status(server.url, token)).toBe(200);
      printed(await rotate(database, "ci"));
    }, 120_000);
  });
}
