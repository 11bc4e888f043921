// npm run audit, against registries that know of no weakness, know of one, and keep no such list.

import { expect, test } from "bun:test";

const main = new URL("../../../scripts/audit.ts", import.meta.url).pathname;

const weakness = {
  id: 1,
  url: "https://advisories.example/1",
  title: "made up",
  severity: "high",
  vulnerable_versions: "<1000.0.0",
  cwe: [],
  cvss: { score: 0, vectorString: null },
};

/**
 * Runs the audit at a registry whose list is this answer; at one that is not there if there is
 * none.
 */
async function auditAt(list: (() => Response) | undefined): Promise<{ stdout: string; exitCode: number }> {
  await using registry = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/-/*": async (request) => {
        // An answer that comes before the request was read cuts the connection.
        await request.arrayBuffer();
        return list?.() ?? Response.error();
      },
      // npm looks up whatever depends on a weak package.
      "/*": (request) =>
        Response.json({ name: decodeURIComponent(new URL(request.url).pathname.slice(1)), versions: {} }),
    },
  });
  if (list === undefined) await registry.stop(true);
  const child = Bun.spawn([process.execPath, main], {
    env: { ...process.env, npm_config_registry: registry.url.href, npm_config_fetch_retries: "0" },
    stdout: "pipe",
    stderr: "inherit",
  });
  return { stdout: await child.stdout.text(), exitCode: await child.exited };
}

test("no weakness is known", async () => {
  const { stdout, exitCode } = await auditAt(() => Response.json({}));
  expect(stdout).toMatch(/^0 of \d{3} packages have a known weakness\n$/);
  expect(exitCode).toBe(0);
});

test("a weakness of a package is named, and the exit code is 1", async () => {
  const { stdout, exitCode } = await auditAt(() => Response.json({ jose: [weakness] }));
  expect(stdout).toMatch(/^(.+\n)*jose: high; .+\n(.+\n)*\d+ of \d{3} packages have a known weakness\n$/);
  expect(exitCode).toBe(1);
});

test.each([
  ["keeps no such list", () => new Response(null, { status: 405 })],
  ["is not there", undefined],
])("a registry that %s is a reason to skip", async (_, list) => {
  const { stdout, exitCode } = await auditAt(list);
  expect(stdout).toMatch(/^skipped: no registry could be asked: .+\n$/);
  expect(exitCode).toBe(0);
});
