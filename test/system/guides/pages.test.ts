// README and the pages for operators: the commands of each, in their order, in one shell and on one
// store. Only addresses and ports are others, and a server is stopped once it is ready.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Replacements, ShellSession, stoppingServers } from "../../support/guide.ts";
import { KeyServer } from "../../support/identity-provider.ts";
import { codeBlocks, outputAfter } from "../../support/markdown.ts";
import { reservePort } from "../../support/ports.ts";
import { ClusterTemplate, PostgresServer } from "../../support/postgres.ts";
import { describeUnless } from "../../support/programs.ts";
import { plantstore, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;

/** psql, pg_dump and the server must be of one version. */
const programs = [18, 17, 16, 15, 14]
  .map((version) => `/usr/lib/postgresql/${version}/bin`)
  .find((path) => existsSync(join(path, "pg_dump")) && existsSync(join(path, "postgres")));

const storePlants = `plantstore migrate
plantstore migrate --database postgres://owner@db1/plants
printf 'id,name,tag\\n9007199254740993,Monstera deliciosa,tropical\\n11,Ficus lyrata,\\n' >plants.csv`;

interface Page {
  /** What the reader of the page has. */
  readonly before?: string;
  /** Whether `before` makes a store for the addresses of PostgreSQL. */
  readonly hasDatabase?: boolean;
  /** Texts of commands that cannot run here: Litestream, containers, several hosts. */
  readonly without?: readonly string[];
  readonly replacements?: Replacements;
}

const pages: Readonly<Record<string, Page>> = {
  "README.md": {
    before: `mkdir bin && ln -s "$(command -v plantstore)" bin/plantstore
unset PLANTSTORE_DATABASE
sed 's/Plant Store/Shop/' openapi.yaml >api.yaml`,
    // The create with the first token is in test/integration/cli/command-line.test.ts.
    without: ["TOKEN"],
    replacements: [
      ["npm ci", ""],
      ["npm start", "bin/plantstore serve"],
    ],
  },
  "docs/transfer.md": {
    before: storePlants,
    hasDatabase: true,
    replacements: [
      ["naqvk3f9x2mq", "\"$(plantstore history --json | grep -o '[a-z0-9]\\{12\\}' | head -n 1)\""],
    ],
  },
  "docs/backup.md": {
    before: storePlants,
    hasDatabase: true,
    without: ["litestream", "coordinator"],
  },
  "docs/scaling.md": { without: ["coordinator", "apt-get", "create_key", "citus"] },
  "docs/identity-provider.md": {},
  "docs/console.md": {
    replacements: [
      ["plantstore password", "echo 'a password for this test' | plantstore password"],
      ["HASH_FILE=admin-password-hash ", "HASH_FILE=admin-password-hash\n"],
      ["PLANTSTORE_ADMIN_PASSWORD_HASH_FILE", "export PLANTSTORE_ADMIN_PASSWORD_HASH_FILE"],
      ["10.0.0.5", "0.0.0.0"],
    ],
  },
  "docs/sandbox.md": {
    before: `cp openapi.yaml api.yaml\necho '{"id": 1, "name": "Ficus"}' >plants.ndjson`,
    without: ["docker"],
  },
};

describeUnless(programs === undefined ? "install postgresql" : undefined, "the commands of", () => {
  const resources = new AsyncDisposableStack();
  let postgres: PostgresServer;
  let provider: KeyServer;

  beforeAll(async () => {
    const [initdb, run] = [join(programs ?? "", "initdb"), join(programs ?? "", "postgres")];
    const template = resources.use(new ClusterTemplate({ initdb, postgres: run }));
    postgres = resources.use(await PostgresServer.start({}, template));
    provider = resources.use(new KeyServer());
  });
  afterAll(() => resources.disposeAsync());

  test.each(Object.entries(pages))(
    "%s",
    async (page, { before = "", hasDatabase = false, without = [], replacements = [] }) => {
      using folder = new TemporaryFolder();
      copyFileSync(join(root, "openapi.yaml"), folder.file("openapi.yaml"));
      const ports = [String(reservePort()), String(reservePort())] as const;
      const { address } = await postgres.newDatabase();
      const store: Replacements = [
        ["postgres://owner@db1/plants", address],
        ["postgres://owner:secret@db1/plants", address],
      ];
      const addresses: Replacements = [
        ...(hasDatabase ? store : []),
        ["?sslmode=verify-full&sslrootcert=ca.crt", ""],
        ["@db1,db2/", "@db1/"],
        ["@db1/", `@127.0.0.1:${postgres.port}/`],
        ["https://id.example/realms/plants", provider.issuer],
        ["127.0.0.1:8080", `127.0.0.1:${ports[0]}`],
        ["127.0.0.1:8081", `127.0.0.1:${ports[1]}`],
      ];
      await using shell = new ShellSession(folder.path, {
        PATH: `${dirname(plantstore)}:${programs}:${process.env.PATH}`,
        HOME: folder.path,
        PLANTSTORE_DATABASE: `sqlite:${folder.file("plants.db")}`,
        PLANTSTORE_PORT: ports[0],
        PLANTSTORE_ADMIN_PORT: ports[1],
      });
      const perform = (text: string) =>
        shell.run(
          stoppingServers(
            [...replacements, ...addresses].reduce((done, [from, to]) => done.replaceAll(from, to), text),
          ),
        );
      await perform(before);
      const blocks = codeBlocks(readFileSync(join(root, page), "utf8"));
      const scripts = blocks.filter(({ text }) => !without.some((word) => text.includes(word)));
      expect(scripts.map(({ language }) => language)).toContain("sh");
      for (const block of scripts) {
        if (block.language === "sql")
          await perform(
            `psql --quiet --set ON_ERROR_STOP=1 postgres://postgres@db1/plants <<'END'\n${block.text}END`,
          );
        if (block.language !== "sh") continue;
        const printed = await perform(block.text);
        const expected = outputAfter(block, blocks);
        if (expected === undefined) continue;
        const shown = printed.replaceAll(ports[0], "8080").replaceAll(ports[1], "8081");
        expect(shown.replace(/ready\n$/, "")).toMatch(expected);
      }
    },
    300_000,
  );
});
