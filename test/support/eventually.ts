// Waits for a state of something that the test does not await.

const pauseMs = 10;

/** Long enough for a busy machine, and shorter than a test may take. */
const waitMsMax = 120_000;

/** Lets everything run that is ready to. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Looks repeatedly until the find is as expected, and returns it. Fails with the last find when the
 * time is over. Use it only for a state that stays: one that passes can be missed between two
 * looks.
 *
 * @param what the state, such as "the queue is full", for the message.
 * @param isExpected by default, that the find is neither false, undefined nor null.
 */
export async function eventually<Found>(
  what: string,
  look: () => Found | Promise<Found>,
  isExpected: (found: Found) => boolean = (found) => found !== false && found !== undefined && found !== null,
): Promise<Found> {
  const end = performance.now() + waitMsMax;
  for (;;) {
    const found = await look();
    if (isExpected(found)) return found;
    if (performance.now() > end)
      throw new Error(`not within ${waitMsMax} ms: ${what}; the last look found ${Bun.inspect(found)}`);
    await Bun.sleep(pauseMs);
  }
}
