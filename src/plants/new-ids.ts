// Makes the ids that the server chooses: ordered by time, and the same again for the same
// Idempotency-Key; another one while they are taken, and those that are left where the contract allows
// few.

import type { Caller } from "../auth/caller.ts";
import { ApiError } from "../base/errors.ts";
import type { Collection } from "../contract/contract.ts";
import {
  encodeId,
  type IdFormat,
  idRange,
  isTextFormat,
  type PlantId,
  textBits,
} from "../contract/plant-id.ts";
import { int64Max } from "../json/int64.ts";
import { keyLength } from "../store/shared/create-key.ts";
import type { SqlConnection } from "../store/sql-connection.ts";

/** Milliseconds take the other 41 of 63 bits: until the year 2094. */
const processBits = 16n;
const counterBits = 6n;
const epoch = Date.UTC(2025, 0, 1);

/** Bits of the counter in ids that are texts: those that the version of a UUID leaves free. */
const textCounterBits = 12n;

/** The bits of a text with room for a time, a counter, and random bits besides. */
const countedBitsMin = 96;

/**
 * Makes ids that are ordered by time. A positive int64 has milliseconds since 2025, a number of this
 * process and a counter; an integer of 53 bits has random bits after them, and a shorter one, which
 * has no room for a time, is random. A text has milliseconds since 1970 and a counter, as a UUIDv7
 * has, and random bits; a short one, milliseconds and random bits. Two processes may make the same
 * id: then the store finds a taken one, and the create gets another.
 *
 * @param wallNow milliseconds of the epoch.
 * @param process from 0 to 65,535.
 */
export function idMaker(format: IdFormat, wallNow: () => number, process: number): () => PlantId {
  const range = idRange(format);
  if (range !== undefined) return () => randomBetween(...range);
  if (format === "int53")
    return () => (BigInt(Math.floor(wallNow()) - epoch) << 12n) | randomBetween(0n, 2n ** 12n - 1n);
  if (!isTextFormat(format)) {
    const next = ticks(() => wallNow() - epoch, counterBits);
    return () => {
      const { ms, counter } = next();
      return (BigInt(ms) << (counterBits + processBits)) | (BigInt(process) << counterBits) | counter;
    };
  }
  const next = ticks(wallNow, textCounterBits);
  const hasCounter = textBits(format) >= countedBitsMin;
  return () => {
    const { ms, counter } = next();
    const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(16)));
    bytes.writeUIntBE(ms, 0, 6);
    if (hasCounter) bytes.writeUInt16BE(Number(counter), 6);
    return encodeId(format, bytes, 7);
  };
}

/** A number of this process for idMaker. */
export function randomProcess(): number {
  return crypto.getRandomValues(new Uint16Array(1))[0] ?? 0;
}

/** A random integer, as evenly distributed as 64 bits allow. */
function randomBetween(least: bigint, greatest: bigint): bigint {
  return between(least, greatest, crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n);
}

function between(least: bigint, greatest: bigint, number: bigint): bigint {
  return least + (number % (greatest - least + 1n));
}

/**
 * Milliseconds and a number in them, which only grow. A millisecond that is full takes the next
 * one.
 */
function ticks(now: () => number, bits: bigint): () => { readonly ms: number; readonly counter: bigint } {
  let ms = 0;
  let counter = 0n;
  return () => {
    const current = Math.max(ms, Math.floor(now()));
    counter = current === ms ? counter + 1n : 0n;
    ms = counter >> bits === 0n ? current : current + 1;
    if (ms !== current) counter = 0n;
    return { ms, counter };
  };
}

/** Characters of an Idempotency-Key, which are printable ASCII. */
const keyCharactersMax = 255;

/**
 * The key of draft-ietf-httpapi-idempotency-key-header, section 2.1; undefined if there is none,
 * and an error if it cannot be one.
 */
export function idempotencyKey(headers: Headers): string | undefined | ApiError {
  const key = headers.get("idempotency-key");
  if (key === null) return undefined;
  // With or without the double quotes of a structured field.
  const text = /^"(.*)"$/.exec(key)?.[1] ?? key;
  if (text !== "" && text.length <= keyCharactersMax && /^[\x20-\x7e]*$/.test(text)) return text;
  return new ApiError(
    "invalidParameter",
    `The Idempotency-Key must have 1 to ${keyCharactersMax} printable ASCII characters, such as a UUID.`,
  );
}

/** Identifies a create besides the id that is chosen for it: a hash of who creates it where. */
export class CreateKey {
  readonly #digest: Buffer;

  /** @param key that of a request, or a number in an import. */
  constructor(collection: Pick<Collection, "table">, { issuer, name }: KeyOwner, key: string) {
    this.#digest = sha256(JSON.stringify([collection.table, issuer ?? null, name, key]));
  }

  /** As plants keep it, whatever format their ids have. */
  get text(): string {
    return this.#digest.toString("base64url").slice(0, keyLength);
  }

  /**
   * The ids that a create with the key tries, from 0: the same on every server, so that two of them
   * meet at the same plant.
   */
  id(format: IdFormat, tried: number): PlantId {
    const digest = tried === 0 ? this.#digest : sha256(this.#digest.toString("hex") + tried);
    if (isTextFormat(format)) return encodeId(format, digest.subarray(0, 16), 8);
    const [least, greatest] = idRange(format) ?? [1n, format === "int53" ? 2n ** 53n - 1n : int64Max];
    return between(least, greatest, digest.readBigUInt64BE());
  }
}

type KeyOwner = Pick<Caller, "issuer" | "name">;

function sha256(text: string): Buffer {
  return new Bun.CryptoHasher("sha256").update(text).digest();
}

/** Ids that are tried without a look at the store. */
const triesMax = 20;

/** Ids that are tried in all: others may take those that were found to be free. */
const takenIdsMax = 1_000;

/** The ids of one create. */
export class ChosenId {
  readonly #format: IdFormat;
  readonly #key: CreateKey | undefined;
  readonly #newId: () => PlantId;
  #tried = 0;

  /**
   * @param key undefined where each create is a new plant.
   * @param newId makes the ids then.
   */
  constructor({ id }: Pick<Collection, "id">, key: CreateKey | undefined, newId: () => PlantId) {
    this.#format = id.format as IdFormat;
    this.#key = key;
    this.#newId = newId;
  }

  /** See NewEntry. */
  get key(): string | null {
    return this.#key?.text ?? null;
  }

  first(): PlantId {
    const tried = this.#tried++;
    return this.#key?.id(this.#format, tried) ?? this.#newId();
  }

  /**
   * Resolves with the next id, as those before are taken; with undefined if none is left. Rejects as
   * the store does.
   *
   * @param freeIds undefined where the contract allows more ids than there are plants.
   */
  async another(freeIds: FreeIds | undefined): Promise<PlantId | undefined> {
    if (this.#tried >= takenIdsMax) return undefined;
    if (this.#tried < triesMax || freeIds === undefined) return this.first();
    this.#tried++;
    return await freeIds();
  }
}

/** Ids of a page that is read. */
const pageIds = 1_000;

/** Pages that are read in search of a free id: a million ids. */
const pagesMax = 1_000;

/** Resolves with an id that was free a moment ago; with undefined if none was. Rejects as the store does. */
export type FreeIds = () => Promise<bigint | undefined>;

/**
 * Finds the free ids of a collection; undefined where it allows more ids than there are plants.
 *
 * @param onNoneLeft called when the ids have run out.
 */
export function freeIdsOf(
  collection: Collection,
  sql: Pick<SqlConnection, "query">,
  onNoneLeft: () => void,
): FreeIds | undefined {
  const { format } = collection.id;
  const range = format === undefined ? undefined : idRange(format);
  if (range === undefined) return undefined;
  let found: bigint[] = [];
  let searching: Promise<void> | undefined;
  let isNoneLeft = false;
  const search = async () => {
    found = await searchFreeIds(collection, sql, range);
    if (found.length === 0 && !isNoneLeft) onNoneLeft();
    isNoneLeft = found.length === 0;
  };
  return async () => {
    do {
      const id = found.pop();
      if (id !== undefined) return id;
      searching ??= search().finally(() => {
        searching = undefined;
      });
      await searching;
    } while (!isNoneLeft);
    return undefined;
  };
}

/** Searches from a random id on, so that servers find different ones. */
async function searchFreeIds(
  { table }: Pick<Collection, "table">,
  sql: Pick<SqlConnection, "query">,
  [least, greatest]: readonly [least: bigint, greatest: bigint],
): Promise<bigint[]> {
  const start = randomBetween(least, greatest);
  for (const [from, to] of [
    [start, greatest],
    [least, start - 1n],
  ] as const) {
    let next = from;
    for (let page = 0; page < pagesMax && next <= to; page++) {
      const rows = await sql.query<{ id: bigint }>(
        `SELECT id FROM "${table}" WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT ${pageIds}`,
        [next, to],
      );
      const last = rows.length < pageIds ? to : (rows.at(-1)?.id ?? to);
      const taken = new Set(rows.map(({ id }) => id));
      const free: bigint[] = [];
      for (let id = next; id <= last && free.length < pageIds; id++) if (!taken.has(id)) free.push(id);
      if (free.length > 0) return free;
      next = last + 1n;
    }
  }
  return [];
}
