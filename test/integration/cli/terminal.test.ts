// The server on a terminal: a pseudo-terminal of script, whose keyboard is standard input.

import { expect, test } from "bun:test";
import { plantJson, post } from "../../support/http.ts";
import { Output } from "../../support/output.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { plantstore, TemporaryFolder } from "../../support/server.ts";

const interrupt = "\x03";

/**
 * Starts a server on a terminal, and stops it with Ctrl+C. The output has the line ends of a
 * terminal removed.
 */
class TerminalServer {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "ignore">;
  readonly #output: Output;

  constructor(folder: TemporaryFolder, columns: number, env: Record<string, string> = {}, ...args: string[]) {
    const serve = `stty cols ${columns}; exec ${plantstore} serve --port 0 --admin-port 0 ${args.join(" ")}`;
    this.#child = Bun.spawn([programPath("script"), "-qec", serve, "/dev/null"], {
      cwd: folder.path,
      env: { PATH: process.env.PATH ?? "", TERM: "xterm", ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    this.#output = new Output(this.#child.stdout);
  }

  /** Waits until a text is shown; returns all that is shown. */
  shown(text: string): Promise<string> {
    return this.#output.until((raw) => {
      const whole = raw.replaceAll("\r\n", "\n");
      return Bun.stripANSI(whole).includes(text) ? whole : undefined;
    });
  }

  async interrupt(): Promise<{ exitCode: number; shown: string }> {
    this.#child.stdin.write(interrupt);
    await this.#child.stdin.flush();
    const exitCode = await this.#child.exited;
    return { exitCode, shown: (await this.#output.ended).replaceAll("\r\n", "\n") };
  }
}

const plain = { NO_COLOR: "1" };

describeIfInstalled(
  "script",
  "a server on a terminal",
  () => {
    test("shows a banner and the first token, a line for each request but those of the documentation page, and its end", async () => {
      using folder = new TemporaryFolder();
      const server = new TerminalServer(folder, 80);
      const banner = Bun.stripANSI(await server.shown('"tropical"}'));
      const url = /Interface +(\S+)\/plants\n/.exec(banner)?.[1] ?? "";
      const token = /pst_[\w-]{43}/.exec(banner)?.[0] ?? "";
      const target = { url, token };
      expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
      await post(target, plantJson(1n, "Ficus"));
      const page = await (await fetch(`${url}/`)).text();
      const loaded = [...page.matchAll(/src="([^"]+)"/g)].map(([, path]) => path);
      for (const path of [...loaded, "openapi.json"]) await (await fetch(`${url}/${path}`)).text();
      expect(loaded.length).toBeGreaterThan(0);
      await post({ url, token: "wrong" }, plantJson(1n, "Ficus"));
      await server.shown("40101");
      const { exitCode, shown } = await server.interrupt();
      expect(exitCode).toBe(0);
      expect(shown).toContain("\x1b[1mPlant Store");
      const lines = Bun.stripANSI(shown)
        .slice(banner.indexOf('"tropical"}'))
        .split("\n")
        .map((line) => line.replace(/^(?:\^C)?\d\d:\d\d:\d\d /, "").replace(/ [\d.]+ ms/, ""));
      expect(lines.filter((line) => line !== "").slice(1)).toEqual([
        "POST /plants 200 created token=first",
        "POST /plants 400 40009 token=first: The id 1 already holds a different plant, which is unchanged; choose another id.",
        expect.stringMatching(/^POST \/plants 401 40101: The bearer token is not accepted: /),
        "shutting down, draining requests signal=SIGINT",
        "stopped",
      ]);
      expect(shown).not.toContain("PLANTSTORE_");
    });

    test("on a later start shows the banner without a token, and no colours with NO_COLOR, at 40 columns", async () => {
      using folder = new TemporaryFolder();
      await first(folder);
      const env = { ...plain, LANG: "C" };
      const server = new TerminalServer(folder, 40, env, "--access-log", "7", "--token-rate", "100");
      await server.shown("Settings");
      const { shown } = await server.interrupt();
      expect(shown).toContain("\n  Interface\n    http://127.0.0.1:");
      expect(shown).toContain("\n  Settings       4 changed\n");
      expect(shown).not.toContain("pst_");
      expect(shown).not.toContain("\x1b");
    });
  },
  "bsdutils",
);

/** The first start in a folder; returns what it printed. */
async function first(folder: TemporaryFolder): Promise<string> {
  const server = new TerminalServer(folder, 80, plain);
  const shown = await server.shown('"tropical"}');
  await server.interrupt();
  return shown;
}
