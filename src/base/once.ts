// Does work once.

/**
 * Returns the result of work that is done with the first call, and again after a failure: a read fails
 * while descriptors are used up.
 */
export function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined;
  return () => {
    result ??= work().catch((error) => {
      result = undefined;
      throw error;
    });
    return result;
  };
}
