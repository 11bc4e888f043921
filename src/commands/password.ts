// plantstore password: makes the hash that the console's password is checked by.

import { Command } from "commander";
import { OperatorError } from "../operator-error.ts";
import { printLines } from "../output.ts";
import { promptPassword } from "../password-prompt.ts";

/** OWASP's advice where nothing else protects an account; what is longer than argon2 hashes in good time is refused. */
const charactersMin = 15;
const charactersMax = 1_000;

export function passwordCommand(): Command {
  return new Command("password")
    .description(
      "ask for a password, or read a line of standard input, and print the hash for --admin-password-hash",
    )
    .action(async () => {
      const password = await promptPassword("Password of the console: ");
      const { length } = Array.from(password);
      if (length < charactersMin || length > charactersMax)
        throw new OperatorError(
          `the password has ${length} characters, but needs ${charactersMin} to ${charactersMax}; four random words will do`,
        );
      if (process.stdin.isTTY && (await promptPassword("Once more: ")) !== password)
        throw new OperatorError("the two are not the same; begin again");
      await printLines([await Bun.password.hash(password, "argon2id")]);
    });
}
