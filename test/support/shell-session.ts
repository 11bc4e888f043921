// One bash for several scripts, as a reader of a guide has it: variables, functions and background jobs remain.

import { Output } from "./output.ts";
import { killGroup } from "./process-group.ts";

export class ShellSession implements AsyncDisposable {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  readonly #stdout: Output;
  readonly #stderr: Output;
  #printed = 0;

  constructor(folder: string, env: Readonly<Record<string, string>>) {
    // The leader of a process group, with all that it starts. A failed command ends it.
    const options = { cwd: folder, env, detached: true } as const;
    const streams = { stdin: "pipe", stdout: "pipe", stderr: "pipe" } as const;
    const command = ["bash", "--noprofile", "--norc", "-euo", "pipefail"];
    this.#child = Bun.spawn(command, { ...options, ...streams });
    this.#stdout = new Output(this.#child.stdout);
    this.#stderr = new Output(this.#child.stderr);
  }

  /** Runs a script, and returns what it printed on standard output. Rejects with what it printed if one of its commands fails. */
  async run(script: string): Promise<string> {
    const mark = `end of script ${crypto.randomUUID()}\n`;
    const from = this.#printed;
    try {
      this.#child.stdin.write(`${script}\nprintf %s '${mark}'\n`);
      await this.#child.stdin.flush();
      const to = await this.#stdout.until((text) => {
        const index = text.indexOf(mark, from);
        return index === -1 ? undefined : index + mark.length;
      });
      this.#printed = to;
      return (await this.#stdout.until((text) => text)).slice(from, to - mark.length);
    } catch {
      const printed = `${(await this.#stdout.ended).slice(from)}${await this.#stderr.ended}`;
      throw new Error(`a command of this script failed:\n${script}\n${printed}`);
    }
  }

  /** Kills it, and what it started and did not end. */
  [Symbol.asyncDispose](): Promise<void> {
    return killGroup(this.#child);
  }
}
