// plantstore completion: prints the script that completes commands, flags and values in a shell.

import { Argument, Command } from "commander";
import { type CommandSpec, commandTree, flatten, type OptionSpec } from "./command-tree.ts";
import { printLines } from "./output.ts";

const scripts: Readonly<Record<string, (commands: readonly CommandSpec[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export function completionCommand(): Command {
  const command = new Command("completion")
    .description("print the script that completes commands, flags and values in a shell")
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(Object.keys(scripts)))
    .addHelpText(
      "after",
      `
bash: source <(plantstore completion bash)       in ~/.bashrc
zsh:  source <(plantstore completion zsh)        in ~/.zshrc, after compinit
fish: plantstore completion fish | source        in ~/.config/fish/config.fish`,
    );
  return command.action(async (shell: string) => {
    const { parent } = command;
    if (parent === null) throw new Error("completion is not a command of a program");
    await printLines([(scripts[shell]?.(flatten(commandTree(parent))) ?? "").trimEnd()]);
  });
}

/** The flags that are followed by a value. A flag has a value in each command or in none. */
function flagsWithValue(commands: readonly CommandSpec[]): string[] {
  const flags = commands.flatMap(({ options }) => options.filter(({ value }) => value !== undefined));
  return [...new Set(flags.map(({ long }) => long))];
}

function flagNames({ short, long }: OptionSpec): string[] {
  return short === undefined ? [long] : [short, long];
}

function subcommandNames({ subcommands, path }: CommandSpec): string[] {
  return subcommands.map((each) => each.path.slice(path.length).trim());
}

/** For bash 3.2 and newer, without the package bash-completion. */
function bashScript(commands: readonly CommandSpec[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== "");
  const values = (flags: string, value: NonNullable<OptionSpec["value"]>) => {
    if (value.isFile)
      return `    ${flags}) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;`;
    return `    ${flags}) COMPREPLY=($(compgen -W ${quote(value.choices.join(" "))} -- "$cur")) ;;`;
  };
  const cases = commands.map((command) => {
    const [argument] = command.arguments;
    const words = [
      ...subcommandNames(command),
      ...command.options.flatMap(flagNames),
      ...(argument?.choices ?? []),
    ];
    const files = argument?.isFile
      ? ' [[ $cur == -* ]] || { compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur")); };'
      : "";
    const flagCases = command.options.flatMap(({ long, value }) =>
      value === undefined ? [] : [values(`${quote(command.path)}:${long}`, value)],
    );
    return {
      flagCases,
      words: `    ${quote(command.path)}) COMPREPLY=($(compgen -W ${quote(words.join(" "))} -- "$cur"));${files} ;;`,
    };
  });
  return `# bash completion of plantstore
_plantstore() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path="" word i
  # bash makes a word of the = in --flag=value.
  if [[ $cur == = ]]; then cur=""; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "\${path:+$path }$word" in
      ${paths.map(quote).join(" | ")}) path="\${path:+$path }$word" ;;
    esac
  done
  COMPREPLY=()
  case "$path:$prev" in
${cases.flatMap(({ flagCases }) => flagCases).join("\n")}
    *) case "$path" in
${cases.map(({ words }) => words).join("\n")}
    esac ;;
  esac
}
complete -F _plantstore plantstore`;
}

/** A function for each command, with the descriptions of the help. */
function zshScript(commands: readonly CommandSpec[]): string {
  const functionOf = (path: string) =>
    ["_plantstore", ...path.split(" ")].filter((word) => word !== "").join("_");
  const text = (description: string) => description.replaceAll(/[[\]:\\]/g, "\\$&");
  const action = ({ choices, isFile }: { choices: readonly string[]; isFile: boolean }) => {
    if (isFile) return "_files";
    return choices.length === 0 ? " " : `(${choices.join(" ")})`;
  };
  const option = (each: OptionSpec) => {
    const { short, long, description, value } = each;
    const rest = `[${text(description)}]${value === undefined ? "" : `:${text(value.name)}:${action(value)}`}`;
    if (short !== undefined) return `'(${short} ${long})'{${short},${long}}${quote(rest)}`;
    return quote(`${long}${value === undefined ? "" : "="}${rest}`);
  };
  const functions = commands.map((command) => {
    const { path, options, subcommands } = command;
    const specs = options.map(option);
    if (subcommands.length === 0) {
      const positional = command.arguments.map((each) => quote(`:${text(each.name)}:${action(each)}`));
      return `${functionOf(path)}() {\n  _arguments -s -S \\\n    ${[...specs, ...positional].join(" \\\n    ")}\n}`;
    }
    const names = subcommandNames(command);
    const described = subcommands.map(({ description }, index) =>
      quote(`${names[index]}:${text(description)}`),
    );
    const calls = subcommands.map((each, index) => `      ${names[index]}) ${functionOf(each.path)} ;;`);
    return `${functionOf(path)}() {
  local curcontext=$curcontext state line
  local -a commands=(
    ${described.join("\n    ")}
  )
  _arguments -C \\
    ${specs.join(" \\\n    ")} \\
    '1: :->command' '*:: :->arguments'
  case $state in
    command) _describe -t commands command commands ;;
    arguments) case $words[1] in
${calls.join("\n")}
    esac ;;
  esac
}`;
  });
  return `#compdef plantstore
# zsh completion of plantstore
${functions.join("\n\n")}

# Autoloaded from a folder of fpath, or sourced.
if [[ $funcstack[1] == _plantstore ]]; then _plantstore "$@"; else compdef _plantstore plantstore; fi`;
}

function fishScript(commands: readonly CommandSpec[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== "");
  const lines = commands.flatMap((command) => {
    const at = `complete -c plantstore -n ${quote(`__plantstore_at ${quote(command.path)}`)}`;
    const names = subcommandNames(command);
    return [
      ...command.subcommands.map(
        ({ description }, index) => `${at} -a ${names[index]} -d ${quote(description)}`,
      ),
      ...command.arguments.map(
        ({ choices, isFile }) => `${at} ${isFile ? "-F" : `-a ${quote(choices.join(" "))}`}`,
      ),
      ...command.options.map(({ short, long, description, value }) => {
        const flag = [...(short === undefined ? [] : ["-s", short.slice(1)]), "-l", long.slice(2)].join(" ");
        const follows =
          value === undefined ? "" : value.isFile ? " -r -F" : ` -x -a ${quote(value.choices.join(" "))}`;
        return `${at} ${flag}${follows} -d ${quote(description)}`;
      }),
    ];
  });
  return `# fish completion of plantstore
function __plantstore_at --description 'Whether the words so far name this command'
  set -l path ""
  set -l isValue 0
  for word in (commandline -opc)[2..-1]
    if test $isValue = 1
      set isValue 0
      continue
    end
    switch $word
      case ${flagsWithValue(commands).join(" ")}
        set isValue 1
    end
    set -l longer (string trim -- "$path $word")
    contains -- $longer ${paths.map(quote).join(" ")}; and set path $longer
  end
  test "$path" = "$argv[1]"
end

complete -c plantstore -f
${lines.join("\n")}`;
}

/** Single-quotes a text for all three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
