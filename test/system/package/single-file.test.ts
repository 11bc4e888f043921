// The executable of `npm run build`: it needs nothing but itself and the C library, and has
// everything in it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import packageJson from "../../../package.json";
import { build, hostTarget, licensesName } from "../../../scripts/build.ts";
import { ConsoleClient } from "../../support/console.ts";
import { foreignCodeRun } from "../../support/foreign-code.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { codeBlocks } from "../../support/markdown.ts";
import { RunningServer, runIn, TemporaryFolder } from "../../support/server.ts";

const folder = new TemporaryFolder();
const executable = folder.file("plantstore");
beforeAll(async () => void (await build(hostTarget(), executable)));
afterAll(() => folder[Symbol.dispose]());

test("--version prints the versions and the commit, and next to it are the licences of what is in it", async () => {
  const version = await runIn(folder.path, [executable, "--version"]);
  const commit = (await Bun.$`git rev-parse --short=12 HEAD`.cwd(import.meta.dir).text()).trim();
  expect(version.stdout).toStartWith(`${packageJson.version} (commit ${commit}`);
  expect(version.stdout).toMatch(
    new RegExp(`, Bun ${Bun.version.replaceAll(".", "\\.")}, SQLite 3\\.\\d+\\.\\d+\\)\n$`),
  );

  const text = await Bun.file(folder.file(licensesName)).text();
  // Packages with the same text are one below the other.
  const lists = [...text.matchAll(/^-{80}\n\n((?:\S+ \d.*\n)+)\n/gm)].flatMap(([, list = ""]) =>
    list.trim().split("\n"),
  );
  const names = lists.map((line) => line.split(" ")[0]);
  // The packages of the server, those that they need, and those of both pages.
  const wanted = Object.keys(packageJson.dependencies);
  expect(names).toEqual(
    expect.arrayContaining([...wanted, "atomic-sleep", "pg-protocol", "@opentelemetry/core", "preact"]),
  );
});

test("neither code nor .env of the current folder is read", async () => {
  const run = async (folder: string) => {
    const { exitCode, stdout } = await runIn(folder, [executable, "config"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^PLANTSTORE_PORT +8080 +default$/m);
  };
  expect(await foreignCodeRun(run)).toEqual([]);
});

test("replaced under a running server by `install`, which then still loads what it has not used yet; the next start has the plants", async () => {
  const program = folder.file("installed");
  const install = () => runIn(folder.path, ["install", executable, program]);
  await install();
  const database = `sqlite:${folder.file("installed.db")}`;
  await using before = await RunningServer.start({ database, program });
  const id = freshId();
  const target = await before.target();
  expect((await install()).exitCode).toBe(0);
  expect((await post(target, plantJson(id, "Monstera"))).status).toBe(200);
  // The page, and the thread that searches.
  const adminUrl = await before.adminUrl();
  for (const path of ["", "app.js", "style.css"])
    expect((await fetch(`${adminUrl}/console/${path}`)).status).toBe(200);
  expect((await new ConsoleClient(adminUrl).plants()).plants).toMatchObject([{ id: String(id) }]);
  expect((await before.stop()).exitCode).toBe(0);
  await using after = await RunningServer.start({ database, program });
  expect((await post({ ...target, url: after.url }, plantJson(id, "Monstera"))).status).toBe(200);
  expect((await runIn(folder.path, [program, "get", String(id), "--database", database])).stdout).toContain(
    "Monstera",
  );
  expect((await after.stop()).exitCode).toBe(0);
});

test("it serves the contract and the operation of docs/guides/start-your-own-service.md", async () => {
  const page = new URL("../../../docs/guides/start-your-own-service.md", import.meta.url);
  const blocks = codeBlocks(await Bun.file(page).text());
  for (const name of ["parcels.yaml", "operations.ts"]) {
    const block = blocks.find(({ language }) => language.endsWith(` ${name}`));
    writeFileSync(folder.file(name), block?.text ?? "");
  }
  await using server = await RunningServer.start({
    database: `sqlite:${folder.file("parcels.db")}`,
    program: executable,
    args: ["--contract", folder.file("parcels.yaml"), "--extend", folder.file("operations.ts")],
  });
  const headers = { Authorization: `Bearer ${await server.createToken()}` };
  const response = await fetch(`${server.url}/parcels/weight?sender=Ada`, { headers });
  expect(await response.text()).toBe('{"weight":0}');
});

/** A user and group that no account needs to have. */
const unprivileged = 65_532;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;

describe.skipIf(!isRoot)(
  `in an empty root directory${isRoot ? "" : " (skipped: chroot needs root on Linux)"}`,
  () => {
    test("an unprivileged user starts it, creates a plant and reads it back; both pages are complete; a signal ends it", async () => {
      using root = new TemporaryFolder();
      const libraries = (await runIn("/", ["ldd", executable])).stdout.match(/\/\S+/g) ?? [];
      for (const path of [executable, ...libraries]) {
        const copy = path === executable ? root.file("plantstore") : root.path + path;
        mkdirSync(dirname(copy), { recursive: true });
        copyFileSync(path, copy);
        chmodSync(copy, 0o755);
      }
      chmodSync(root.path, 0o755);
      mkdirSync(root.file("data"));
      chownSync(root.file("data"), unprivileged, unprivileged);
      mkdirSync(root.file("proc"));
      // Bun needs /proc; mounted in a namespace that ends with the process.
      const enter = `mount -t proc proc ${root.file("proc")} && exec chroot --userspec=${unprivileged}:${unprivileged} ${root.path} "$@"`;
      const inRoot = ["unshare", "--mount", "sh", "-c", enter, "sh"];

      await using server = await RunningServer.start({
        database: "sqlite:/data/plants.db",
        under: inRoot,
        program: "/plantstore",
      });
      const command = (...args: string[]) =>
        runIn("/", [...inRoot, "/plantstore", ...args, "--database", "sqlite:/data/plants.db"]);
      const { stdout: token } = await command("token", "create", "--name", "ci");
      const id = freshId();
      const created = await post({ url: server.url, token: token.trim() }, plantJson(id, "Monstera"));
      expect(created.status).toBe(200);
      expect(JSON.parse((await command("get", String(id))).stdout)).toMatchObject({ name: "Monstera" });

      for (const page of [`${server.url}/`, `${await server.adminUrl()}/console/`]) {
        const html = await (await fetch(page)).text();
        const links = [...html.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, link = ""]) => link);
        expect(links.length).toBeGreaterThan(1);
        for (const link of links) expect((await fetch(new URL(link, page))).status).toBe(200);
      }
      expect(await server.stop()).toMatchObject({ exitCode: 0 });
    });
  },
);
