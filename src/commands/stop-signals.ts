// SIGTERM and SIGINT: the first asks the server to stop, a second one to end at once.

/** npm passes on a signal that the terminal has sent already: two within this time are one. */
const sameSignalMs = 200;

/** The first signal that comes from now on. Another one, later on, calls `endAtOnce`. */
export function waitForStopSignal(now: () => number, endAtOnce: (signal: string) => void): Promise<string> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const receive = (signal: string) => {
      firstAt ??= now();
      if (now() - firstAt > sameSignalMs) endAtOnce(signal);
      resolve(signal);
    };
    process.on("SIGTERM", receive);
    process.on("SIGINT", receive);
  });
}
