// What a row of the engine has no room for is refused alone, whatever it is committed with.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { wideBody, writeWideContract } from "../../support/wide-contract.ts";

/** PostgreSQL stores a long text elsewhere and keeps 18 bytes of it: 1,000 are over a page. */
const tooLong = 30;
/** Half of them are for PostgreSQL to refuse, and are not obvious. */
const largeBody = (id: number) => wideBody(id, tooLong, id % 2 === 0 ? 1_000 : 500);
const isLarge = (id: number) => id % 7 === 0;
const refused = {
  status: 413,
  json: {
    error: 41300,
    message: "The values are more than the store can keep in one row; send fewer or shorter ones.",
  },
};

// A row of SQLite has room for all that a body may have.
for (const engine of engines.filter((each) => each.engine === "postgres"))
  test(`${engine.name}: of creates, changes and records of a file only the one with such a row fails`, async () => {
    using folder = new TemporaryFolder();
    const contract = folder.file("wide.json");
    writeWideContract(contract);
    await using place = await engine.createTestStore({ text: await Bun.file(contract).text() });
    const { database } = place;
    await using server = await RunningServer.startInProcess({ database, args: ["--contract", contract] });
    const headers = tokenHeaders(await server.createToken());
    const send = (method: string, path: string, body: string) =>
      sendJson(server.url + path, method, body, headers);

    // Of unknown tokens only some are looked up at a time.
    expect((await sendJson(`${server.url}/narrows/1`, "GET", undefined, headers)).status).toBe(404);
    const ids = Array.from({ length: 60 }, (_, index) => index + 1);
    const answers = await Promise.all(
      ids.flatMap((id) => [
        send("POST", "/narrows", `{"id":${id},"name":"x"}`),
        send("POST", "/wides", isLarge(id) ? largeBody(id) : wideBody(id, 2)),
      ]),
    );
    for (const [index, answer] of answers.entries()) {
      const isRefused = index % 2 === 1 && isLarge((index + 1) / 2);
      expect(answer).toMatchObject(isRefused ? refused : { status: 200 });
    }

    const changes = await Promise.all(
      [1, 2, 3, 4].map((id) => send("PATCH", `/wides/${id}`, id === 3 ? largeBody(id) : wideBody(id, 3))),
    );
    expect(changes[2]).toMatchObject(refused);
    expect(changes.map(({ status }) => status)).toEqual([200, 200, refused.status, 200]);

    const file = folder.file("wides.ndjson");
    writeFileSync(
      file,
      [101, 103, 105].map((id) => (id === 103 ? largeBody(id) : wideBody(id, 2))).join("\n"),
    );
    const { stdout, stderr } = await server.command("import", file, "--collection", "wides");
    expect(stdout + stderr).toContain("2 created");
    expect(stdout + stderr).toContain("1 rejected");
    expect(await Bun.file(`${file}.rejected.ndjson`).text()).toContain(refused.json.message);
  });
