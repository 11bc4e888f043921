// Assertions on promises that reject.

/**
 * Waits for a promise, and returns a function that throws its error or returns its value, for
 * `expect(…).toThrow`.
 *
 * In place of bun:test's `rejects` and `resolves`, which run the event loop until the promise is
 * settled. Inside a callback of a socket that overwrites the data that the callback has still to
 * read: a server in the same process got bytes of another connection as the body of a request.
 */
export async function settled<Value>(promise: PromiseLike<Value>): Promise<() => Value> {
  try {
    const value = await promise;
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
