// Large responses that need no token, to clients that never read and to clients that read fast: others
// create, and memory is bounded.

import { afterAll, expect, test } from "bun:test";
import { Load } from "../../support/load.ts";
import { RawConnection } from "../../support/raw-connection.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { peakBytes } from "./peak-bytes.ts";

const clients = 100;
/** The text in each coding, what the requests take, and the log of a sandbox. */
const bytesMoreMax = 64 * 2 ** 20;

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());
/** The Plant Store's contract, with a schema of 4 MB. */
const contract = folder.file("large.json");
const plantStore = Bun.YAML.parse(await Bun.file("openapi.yaml").text()) as Contract;
plantStore.components.schemas.Large = { description: "large ".repeat(700_000) };
await Bun.write(contract, JSON.stringify(plantStore));

interface Contract {
  readonly components: { readonly schemas: Record<string, object> };
}

const programs = {
  serve: async () => {
    const server = await RunningServer.start({ args: ["--contract", contract] });
    return { server, target: await server.target() };
  },
  sandbox: async () => {
    const server = await RunningSandbox.start({ args: ["--contract", contract] });
    return { server, target: server };
  },
};

test.each(
  (["serve", "sandbox"] as const).flatMap((program) =>
    [
      ["/docs/scalar.js", "identity"],
      ["/docs/scalar.js", "gzip"],
      ["/docs/scalar.js", "br"],
      ["/openapi.json", "identity"],
    ].map(([path = "", coding = ""]) => [program, path, coding] as const),
  ),
)("%s: %s in %s", async (program, path, coding) => {
  const { server, target } = await programs[program]();
  await using _server = server;
  const download = async () => {
    const headers = { "Accept-Encoding": coding };
    const { body } = await fetch(target.url + path, { headers, decompress: false });
    let length = 0;
    for await (const chunk of body ?? []) length += chunk.length;
    return length;
  };
  // Made with the first request for it.
  const bytes = await download();
  expect(bytes).toBeGreaterThan(1_000_000);
  const before = peakBytes(server.pid);
  const load = new Load();
  load.start([target], 2, 20);
  const slow = await Promise.all(
    Array.from({ length: clients }, async () => {
      const connection = await RawConnection.open(target.url);
      connection.pause();
      connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${coding}\r\n\r\n`);
      return connection;
    }),
  );
  await load.acknowledgedMore(20);
  const downloads = Promise.all(Array.from({ length: clients }, download));
  await load.acknowledgedMore(20);
  expect(await downloads).toEqual(Array<number>(clients).fill(bytes));
  for (const connection of slow) connection.terminate();
  await load.stop();
  const more = peakBytes(server.pid) - before;
  process.stdout.write(`${program}, ${path} in ${coding}: ${Math.round(more / 2 ** 20)} MiB more\n`);
  expect([...load.statuses.keys()]).toEqual([200]);
  expect(more).toBeLessThan(bytesMoreMax);
});
