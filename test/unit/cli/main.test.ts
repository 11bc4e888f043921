// The exit code and the messages of a failed command.

import { expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { parseFieldFlags } from "../../../src/cli/commands/field-flags.ts";
import { describeError } from "../../../src/cli/main.ts";
import { plantStore } from "../../support/contracts.ts";

/** Fails, and so do the two closes at its end. */
async function failThrice(): Promise<never> {
  const failing = (message: string) => ({
    [Symbol.asyncDispose]: () => Promise.reject(new OperatorError(message)),
  });
  await using _store = failing("the store cannot be closed");
  await using _connection = failing("the thread ended");
  throw new OperatorError("there is no plant 7", 3);
}

test("if a command fails, and so does closing what it had opened, all messages are printed", async () => {
  const error = await failThrice().catch((thrown) => thrown);
  expect(describeError(error)).toEqual({
    exitCode: 3,
    line: "plantstore: there is no plant 7\nplantstore: the thread ended\nplantstore: the store cannot be closed",
  });
});

test("an error is one line, whatever the text that it quotes", () => {
  const { line } = describeError(new OperatorError("there is no file a\nb\x1b[2J"));
  expect(line).toBe("plantstore: there is no file a b [2J");
});

test("what follows a misspelt flag of a field may be a secret, and is not printed", () => {
  expect(() => parseFieldFlags(plantStore, ["--nam=secret"])).toThrow(
    "unknown option '--nam'; the fields are --name, --tag",
  );
});
