// The commands of a document and the files of examples/tools, run as they are but for addresses.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { type CodeBlock, codeBlocks } from "./markdown.ts";
import { npmEnvironment } from "./npm-packages.ts";
import { Output } from "./output.ts";
import { acceptsConnections } from "./ports.ts";
import { killGroup } from "./processes.ts";
import type { RunningSandbox } from "./sandbox.ts";
import { runProgram } from "./server.ts";

/** Replacements in the text of a document. */
export type Replacements = readonly (readonly [from: string, to: string])[];

/** Reads a document; its path starts at the root of the repository. */
export async function readGuide(path: string) {
  const text = await Bun.file(new URL(`../../${path}`, import.meta.url)).text();
  const all = codeBlocks(text);
  return {
    text,
    /**
     * The only code block in a language that contains a text. Throws if there is not exactly one.
     */
    block(language: string, contains: string, replacements: Replacements = []): string {
      const blocks = all.filter((block) => block.language === language && block.text.includes(contains));
      const [block] = blocks;
      if (block === undefined || blocks.length > 1)
        throw new Error(`The document has ${blocks.length} ${language} blocks with ${contains}`);
      return replace(block.text, replacements);
    },
  };
}

/** Writes a file of examples/tools into a folder, with replacements. */
export async function copyExample(
  name: string,
  folder: string,
  replacements: Replacements = [],
): Promise<void> {
  const text = await Bun.file(new URL(`../../examples/tools/${name}`, import.meta.url)).text();
  writeFileSync(join(folder, name), replace(text, replacements));
}

function replace(text: string, replacements: Replacements): string {
  return replacements.reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text);
}

/** Replaces the addresses in the documents by those of a sandbox. */
export function addressesOf({ url, controlUrl }: RunningSandbox): Replacements {
  return [
    ["http://127.0.0.1:8080", url],
    ["http://127.0.0.1:8081", new URL(controlUrl).origin],
  ];
}

/** npx installs without a question, if possible from npm's cache. */
const scriptEnvironment = { ...process.env, ...npmEnvironment, npm_config_yes: "true" };

/** Runs commands in a shell; `output` has both streams. */
export async function runScript(script: string, cwd: string) {
  const options = { cwd, env: scriptEnvironment };
  const { exitCode, stdout, stderr } = await runProgram(["sh", "-ec", script], options);
  return { exitCode, stdout, output: stdout + stderr };
}

/** Runs commands in a shell, and returns their standard output. Throws if they fail. */
export async function runScriptOrThrow(script: string, cwd: string): Promise<string> {
  const { exitCode, stdout, output } = await runScript(script, cwd);
  if (exitCode !== 0) throw new Error(`${script}\nfailed with ${exitCode}:\n${output}`);
  return stdout;
}

/** A command that runs until it goes out of scope, with everything that it starts. */
export class BackgroundScript implements AsyncDisposable {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "ignore">;
  readonly #output: Output;

  constructor(script: string, cwd: string) {
    // A new process group, because npx starts other processes.
    this.#child = Bun.spawn(["sh", "-ec", `exec 2>&1\n${script}`], {
      cwd,
      detached: true,
      env: scriptEnvironment,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    this.#output = new Output(this.#child.stdout);
  }

  /** Everything that it has printed. */
  output(): Promise<string> {
    return this.#output.until((text) => text);
  }

  /** Waits until it accepts connections. Throws with its output if it ends. */
  async listens(port: number): Promise<void> {
    const isListening = async () => {
      if (this.#child.exitCode !== null) throw new Error(`The command ended: ${await this.output()}`);
      return acceptsConnections(port);
    };
    await eventually("the command accepts connections", isListening);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return killGroup(this.#child);
  }
}

/** Has a script stop each server that it starts in the foreground, once it is ready. */
export function stoppingServers(script: string): string {
  const server = /^((?:bin\/)?plantstore (?:serve|sandbox)\b(?:.*\\\n)*.*?)(?<!&)(?: +#.*)?$/gm;
  return script.replaceAll(server, "$1 2>>log &\nplantstore ready --wait-seconds-max 60\nkill $! && wait $!");
}

/** Commands of Bun for those of npm and Node. */
const withBun: Replacements = [
  ["npm init --yes >/dev/null", "echo '{}' >package.json"],
  ["npm install --silent", "bun add --silent"],
  ["--save-dev", "--dev"],
  ["node --test", "bun test"],
];

/** With what a page is performed: a name, and the replacements in its commands. */
export const runtimes: readonly (readonly [name: string, replacements: Replacements])[] = [
  ["npm and Node", []],
  ["Bun", withBun],
];

/**
 * Performs a block of a page in a folder: writes the file that it names, or runs its commands, and
 * returns what they print; undefined for other blocks.
 */
export async function performBlock(
  { language: first, text }: CodeBlock,
  folder: string,
  shell: ShellSession,
  replacements: Replacements,
): Promise<string | undefined> {
  const [language, path] = first.split(" ");
  if (path !== undefined) writeFileSync(join(folder, path), text);
  return language === "sh" ? await shell.run(replace(text, replacements)) : undefined;
}

/** A shell that keeps its folder and variables from one script to the next. */
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

  /** Runs a script, and returns its standard output. Rejects with all output if a command fails. */
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
