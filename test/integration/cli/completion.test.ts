// The completions and the man page, in the shells and programs that use them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { TerminalProgram } from "../../support/output.ts";
import { programPath, testIfInstalled } from "../../support/programs.ts";
import { plantstore, runCommand, runIn, TemporaryFolder } from "../../support/server.ts";

/** What is typed, and the words that can take the place of the last one; none for a file. */
test.each([
  ["tok", "token"],
  ["token ro", "rotate"],
  ["token ", "create rotate list revoke"],
  ["token rotate ci --ov", "--overlap"],
  ["serve --log-format ", "auto json pretty"],
  ["serve --log-format=pr", "--log-format=pretty"],
  // bash's words for --log-format=pr.
  ["serve --log-format = pr", "pretty"],
  ["serve --log-format =", "auto json pretty"],
  ["serve --admin-host 127.0.0.1 conn", ""],
  ["serve --admin-host 127.0.0.1 --conn", "--connections-max"],
  ["serve --config st", ""],
  ["import st", ""],
  ["token cr", "create"],
  ["completion z", "zsh"],
  ["conformance --resp", "--response-seconds-max"],
  // A value that has the name of a command.
  ["serve --host token --docs of", "off"],
])("%j is completed with %j", async (typed, words) => {
  const { exitCode, stdout } = await runCommand(["completion", "bash", "--", ...typed.split(" ")]);
  expect(exitCode).toBe(0);
  expect(stdout.trimEnd().replaceAll("\n", " ")).toBe(words);
});

/** What is typed, and what one Tab makes of it; a file named stock.csv is in the folder. */
const completed: readonly (readonly [typed: string, line: string])[] = [
  ["tok", "token"],
  ["token rotate ci --ov", "token rotate ci --overlap"],
  ["serve --log-format pr", "serve --log-format pretty"],
  ["import st", "import stock.csv"],
];

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = new TemporaryFolder();
  writeFileSync(folder.file("stock.csv"), "");
  await Promise.all(
    ["bash", "zsh", "fish"].map(async (shell) => {
      const { exitCode, stdout } = await runCommand(["completion", shell]);
      expect(exitCode).toBe(0);
      writeFileSync(folder.file(`script.${shell}`), stdout);
    }),
  );
});
afterAll(() => folder[Symbol.dispose]());

testIfInstalled("bash", "bash completes commands, flags and values", async () => {
  const script = `source script.bash
while read -ra words; do
  COMP_WORDS=("\${words[@]}") COMP_CWORD=$((\${#words[@]} - 1)); _plantstore ${plantstore}; echo "\${COMPREPLY[*]}"
done
complete -p plantstore`;
  const input = completed.map(([typed]) => `plantstore ${typed}\n`).join("");
  const { stdout, stderr } = await runIn(folder.path, ["bash", "--norc", "-c", script], input);
  expect(stderr).toBe("");
  expect(stdout.trimEnd().split("\n")).toEqual([
    "token",
    "--overlap",
    "pretty",
    // By the option default.
    "",
    "complete -o default -F _plantstore plantstore",
  ]);
});

/** The command is found by its name. */
const path = `${dirname(plantstore)}:${process.env.PATH}`;

testIfInstalled(
  "fish",
  "fish completes commands, flags, values and files, with their descriptions",
  async () => {
    const script = `source script.fish
while read -l line; complete -C "$line"; end`;
    const input = completed.map(([typed]) => `plantstore ${typed}\n`).join("");
    // fish writes its history and settings into the home folder.
    const fish = ["env", `PATH=${path}`, `HOME=${folder.path}`, "fish", "--no-config", "-c", script];
    const { stdout, stderr } = await runIn(folder.path, fish, input);
    expect(stderr).toBe("");
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.split("\t")[0])).toEqual(
      completed.map(([, line]) => line.split(" ").at(-1) ?? ""),
    );
    expect(lines[0]).toBe("token\tissue, rotate, list and revoke the tokens that clients send");
  },
);

const zshSetup = `PS1='> '
zstyle ':completion:*' menu no
autoload -U compinit; compinit -u -D
source script.zsh
show() { print -r -- "$BUFFER" >> completed; BUFFER=""; print -n "SHO""WN" }
zle -N show; bindkey '^G' show
print "REA""DY"
`;
const [tab, showBuffer] = ["\t", "\x07"];

testIfInstalled(
  "zsh",
  "zsh completes commands, flags, values and files on the keys of a terminal",
  async () => {
    writeFileSync(folder.file("setup.zsh"), zshSetup);
    const zsh = new TerminalProgram([programPath("zsh"), "-f", "-i"], {
      cwd: folder.path,
      env: { PATH: path, HOME: folder.path },
    });
    const shown = (text: string, times: number) =>
      zsh.output.until((all) => (all.split(text).length > times ? true : undefined));
    zsh.type("source setup.zsh\r");
    await shown("READY", 1);
    for (const [index, [typed]] of completed.entries()) {
      zsh.type(`plantstore ${typed}${tab}${showBuffer}`);
      await shown("SHOWN", index + 1);
    }
    zsh.type("exit\r");
    await zsh.exited;
    const lines = (await Bun.file(folder.file("completed")).text()).trimEnd().split("\n");
    // An option whose value may follow in the same word ends with =.
    expect(lines.map((line) => line.replace(/[ =]$/, ""))).toEqual(
      completed.map(([, line]) => `plantstore ${line}`),
    );
  },
);

test("the man page has every command and flag, as --help has them", async () => {
  const { exitCode, stdout } = await runCommand(["man"]);
  expect(exitCode).toBe(0);
  const text = stdout.replaceAll("\\-", "-");
  const { stdout: help } = await runCommand(["--help"]);
  const names = [...help.matchAll(/^ {2}([a-z]+) /gm)]
    .map(([, name]) => name ?? "")
    .filter((name) => name !== "help" && name !== "plantstore");
  expect(names).toContain("serve");
  for (const name of names) expect(text).toContain(`\n.SS plantstore ${name} `);
  const { stdout: serve } = await runCommand(["serve", "--help"]);
  for (const [flag] of serve.matchAll(/--[a-z-]+ (?=<)/g)) expect(text).toContain(`\n.B ${flag}<`);
  expect(text).toContain("\n.B Limits:\n");
});

testIfInstalled("mandoc", "mandoc finds no fault in the man page", async () => {
  const { stdout: page } = await runCommand(["man"]);
  writeFileSync(folder.file("plantstore.1"), page);
  const lint = await runIn(folder.path, ["mandoc", "-T", "lint", "-W", "warning", "plantstore.1"]);
  // A date would have to be changed with each release.
  expect(lint.stdout.split("\n").filter((line) => line !== "" && !line.includes("missing date"))).toEqual([]);
});
