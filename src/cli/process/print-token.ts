// Prints a new token, and stores it then: nothing has to be undone if it cannot be printed.

import { errorMessage, OperatorError } from "../../core/operator-error.ts";
import { host } from "./host.ts";

/**
 * Prints lines with a token, and stores it. Rejects with an OperatorError that says whether the
 * token works.
 *
 * @param store rejects with an OperatorError if the token was not stored.
 */
export async function issueToken<Stored>(
  lines: readonly string[],
  store: () => Promise<Stored>,
): Promise<Stored> {
  // Rejects if the reader exits, too, which printLines ignores.
  const written = host().output.write(lines.map((line) => `${line}\n`));
  await written.catch((error) => {
    throw new OperatorError(
      `the token could not be printed (${error.code ?? error.message}), and was not issued; redirect standard output, and try again`,
    );
  });
  return store().catch((error) => {
    if (!(error instanceof OperatorError)) throw error;
    throw new OperatorError(`the token that was printed is void: ${errorMessage(error)}`);
  });
}
