// Limits how long a promise is waited for.

/** Rejects with an error that says who has not responded, unless a promise is settled in time. */
export function withinTime<Value>(promise: Promise<Value>, msMax: number, who: string): Promise<Value> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${who} has not responded for ${msMax} ms`)), msMax);
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
