// Several servers on one store.

import { expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { RunningServer } from "../../support/server.ts";

const testMsMax = 60_000;

test.each(engines)(
  "$name: three servers start at once on an empty store, one id raced across them has one winner, and one killed loses nothing",
  async (engine) => {
    await using place = await engine.createTestStore();
    // All three find no schema, and no token.
    const servers = await Promise.all([1, 2, 3].map(() => RunningServer.start(place)));
    await using stack = new AsyncDisposableStack();
    for (const server of servers) stack.use(server);
    const [one, two, three] = servers;
    if (one === undefined || two === undefined || three === undefined)
      throw new Error("There are not three servers");
    const listed = (await one.command("token", "list", "--json")).stdout.trim().split("\n");
    expect(listed.map((line) => JSON.parse(line).name)).toEqual(["first"]);

    const token = await one.createToken();
    const targets = servers.map(({ url }) => ({ url, token }));
    for (let round = 0; round < 10; round++) {
      const id = freshId();
      const attempts = Array.from({ length: 30 }, (_, index) => ({
        name: `competing ${index % 10}`,
        target: targets[index % 3],
      }));
      const answers = await Promise.all(
        attempts.map(({ name, target }) => target && post(target, plantJson(id, name))),
      );
      const winners = new Set(
        answers.filter((answer) => answer?.status === 200).map((answer) => answer?.text),
      );
      expect(winners.size).toBe(1);
      for (const [index, answer] of answers.entries()) {
        const isWinner = winners.has(JSON.stringify({ name: attempts[index]?.name }));
        expect(answer?.json).toMatchObject(isWinner ? { name: attempts[index]?.name } : { error: 40009 });
      }
    }

    // Batches of many shared ids, sent to all three in opposite orders, must not deadlock or fault.
    const shared = Array.from({ length: 200 }, () => freshId());
    const crossed = await Promise.all(
      targets.flatMap((target, index) =>
        (index % 2 === 0 ? shared : shared.toReversed()).map((id) => post(target, plantJson(id, "shared"))),
      ),
    );
    expect(new Set(crossed.map(({ status }) => status))).toEqual(new Set([200]));

    const before = (await one.command("export")).stdout;
    const load = new Load();
    load.startUntilGone(
      [
        { url: one.url, token },
        { url: two.url, token },
        { url: three.url, token },
      ],
      30,
    );
    await load.acknowledgedMore(500);
    await two.stop("SIGKILL");
    await load.acknowledgedMore(500);
    await load.stop();
    const known = new Set(before.split("\n"));
    const since = (await one.command("export")).stdout.split("\n").filter((line) => !known.has(line));
    expect(load.audit(since.join("\n"))).toEqual([]);
  },
  testMsMax,
);
