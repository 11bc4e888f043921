// Limits how long a promise is waited for.

/** Rejects with an error that says who has not responded, unless a promise is settled in time. */
export function withinTime<Value>(promise: Promise<Value>, msMax: number, who: string): Promise<Value> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${who} has not responded for ${msMax} ms`)), msMax);
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

/** Rejects with the reason of a signal, unless a promise is settled before it is aborted. */
export function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort);
  // A listener that stayed would be one more for each promise.
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}
