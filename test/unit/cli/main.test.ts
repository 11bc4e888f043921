// The exit code and the messages of a failed command.

import { expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { describeError } from "../../../src/cli/main.ts";

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
