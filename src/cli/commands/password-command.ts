// plantstore password: prints the hash of the console's password.

import { Command } from "commander";
import { OperatorError } from "../../base/operator-error.ts";
import { printLines } from "../../process/output.ts";

/** OWASP's minimum without a second factor; the maximum bounds the time of Argon2. */
const charactersMin = 15;
const charactersMax = 1_000;

export function passwordCommand(): Command {
  return new Command("password")
    .description(
      "ask for a password, or read a line of standard input, and print the hash for --admin-password-hash",
    )
    .action(async () => {
      // It loads streams and readline, which no other command needs.
      const { promptPassword } = await import("./password-prompt.ts");
      const password = await promptPassword("Password of the console: ");
      const { length } = Array.from(password);
      if (length < charactersMin || length > charactersMax)
        throw new OperatorError(
          `the password has ${length} characters, but needs ${charactersMin} to ${charactersMax}; four random words are enough`,
        );
      if (process.stdin.isTTY && (await promptPassword("Repeat the password: ")) !== password)
        throw new OperatorError("the two passwords differ; try again");
      await printLines([await Bun.password.hash(password, "argon2id")]);
    });
}
