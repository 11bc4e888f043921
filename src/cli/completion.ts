// plantstore completion: prints the script that completes words in a shell. It calls the command
// again with the words that were typed, and gets those that can take the place of the last one.

import { Argument, Command, type Option } from "commander";
import { printLines } from "./output.ts";

interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** Where there are no candidates, each shell completes the names of files. */
const shells: Readonly<Record<string, { script: string; format: (candidate: Candidate) => string }>> = {
  bash: {
    script: `_plantstore() {
  local IFS=$'\\n'
  COMPREPLY=($("$1" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _plantstore plantstore`,
    format: ({ word }) => word,
  },
  zsh: {
    script: `#compdef plantstore
_plantstore() {
  local -a lines=("\${(@f)$("$words[1]" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n $lines ]]; then _describe plantstore lines; else _files; fi
}
# Autoloaded from a folder of fpath, or sourced.
if [[ $funcstack[1] == _plantstore ]]; then _plantstore "$@"; else compdef _plantstore plantstore; fi`,
    format: ({ word, description }) => `${word}:${description}`,
  },
  fish: {
    script: `function __plantstore_complete
  set -l word (commandline -ct)
  set -l lines (plantstore completion fish -- (commandline -opc)[2..-1] "$word" 2>/dev/null)
  if set -q lines[1]; string join \\n -- $lines; else; __fish_complete_path "$word"; end
end
complete -c plantstore -f -a '(__plantstore_complete)'`,
    format: ({ word, description }) => `${word}\t${description}`,
  },
};

export function completionCommand(): Command {
  const command = new Command("completion")
    .description("print the script that completes commands, flags and values in a shell")
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(Object.keys(shells)))
    .addArgument(new Argument("[words...]", "after --, the words to complete, as the script gives them"))
    .addHelpText(
      "after",
      `
bash: source <(plantstore completion bash)       in ~/.bashrc
zsh:  source <(plantstore completion zsh)        in ~/.zshrc, after compinit
fish: plantstore completion fish | source        in ~/.config/fish/config.fish`,
    );
  return command.action(async (name: string, words: readonly string[]) => {
    const { parent } = command;
    const shell = shells[name];
    if (parent === null || shell === undefined) throw new Error("completion is not a command of a program");
    await printLines(words.length === 0 ? [shell.script] : complete(parent, words).map(shell.format));
  });
}

/** The words that can take the place of the last one, which may be empty. */
function complete(program: Command, words: readonly string[]): Candidate[] {
  let command = program;
  let flag: Option | undefined;
  // bash makes a word of the = in --flag=value.
  for (const word of words.slice(0, -1).filter((each) => each !== "=")) {
    const isValue = flag !== undefined;
    flag = isValue
      ? undefined
      : command.options.find(({ short, long, required }) => required && (word === long || word === short));
    if (!isValue) command = command.commands.find((each) => each.name() === word) ?? command;
  }
  const [, joined, last = ""] = /^(?:(--[^=]+=)|=)?(.*)$/s.exec(words.at(-1) ?? "") ?? [];
  flag ??= command.options.find(({ long }) => joined === `${long}=`);
  return (flag === undefined ? wordsOf(command, last) : valuesOf(flag))
    .filter(({ word }) => word.startsWith(last))
    .map(({ word, description }) => ({ word: (joined ?? "") + word, description }));
}

function wordsOf(command: Command, last: string): Candidate[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((each) => each.name() !== "help");
  const [argument] = command.registeredArguments;
  const words = [
    ...commands.map((each) => ({ word: each.name(), description: each.description() })),
    ...(argument?.argChoices ?? []).map((word) => ({ word, description: "" })),
  ];
  const takesWords = commands.length > 0 || argument !== undefined;
  if (takesWords && !last.startsWith("-")) return words;
  return help.visibleOptions(command).map(({ long, description }) => ({ word: long ?? "", description }));
}

/** The choices that the name of a flag's value lists, such as `on|off`. */
function valuesOf({ flags }: Option): Candidate[] {
  const [, list = ""] = /<(.+\|.+)>$/.exec(flags) ?? [];
  return list.split("|").flatMap((word) => (word === "" ? [] : [{ word, description: "" }]));
}
