// The ids that the server chooses: ordered by time, and the same again for the same Idempotency-Key.

import type { Caller } from "../auth/caller.ts";
import { ApiError } from "../contract/errors.ts";

/** Milliseconds take the other 41 of 63 bits: until the year 2094. */
const processBits = 16n;
const counterBits = 6n;
const epoch = Date.UTC(2025, 0, 1);

/**
 * Makes positive int64s: the milliseconds since 2025, a number of this process, and a counter. They
 * are unique in a process; two processes have the same number once in 65,536 times, and then the
 * store finds a taken id.
 *
 * @param wallNow milliseconds of the epoch.
 * @param process from 0 to 65,535.
 */
export function idMaker(wallNow: () => number, process: number): () => bigint {
  const processPart = BigInt(process) << counterBits;
  let ms = 0;
  let counter = 0n;
  return () => {
    const now = Math.max(ms, wallNow() - epoch);
    counter = now === ms ? counter + 1n : 0n;
    // More than 64 in a millisecond take ids of the next one.
    ms = counter >> counterBits === 0n ? now : now + 1;
    if (ms !== now) counter = 0n;
    return (BigInt(Math.floor(ms)) << (processBits + counterBits)) | processPart | counter;
  };
}

/** Of a key: printable ASCII, with or without the double quotes of a structured field. */
const keyCharactersMax = 255;

/**
 * The key of draft-ietf-httpapi-idempotency-key-header, section 2.1; undefined if there is none, and
 * an error if it cannot be one.
 */
export function idempotencyKey(headers: Headers): string | undefined | ApiError {
  const key = headers.get("idempotency-key");
  if (key === null) return undefined;
  const text = /^"(.*)"$/.exec(key)?.[1] ?? key;
  if (text !== "" && text.length <= keyCharactersMax && /^[\x20-\x7e]*$/.test(text)) return text;
  return new ApiError(
    "badRequest",
    `The Idempotency-Key must have 1 to ${keyCharactersMax} printable ASCII characters, such as a UUID.`,
  );
}

/** The id of a caller's key: positive, from SHA-256, so that every server makes the same. */
export function idOfKey({ issuer, name }: Caller, collection: string, key: string): bigint {
  const hash = new Bun.CryptoHasher("sha256").update(JSON.stringify([collection, issuer ?? null, name, key]));
  return BigInt.asUintN(63, hash.digest().readBigUInt64BE()) || 1n;
}
