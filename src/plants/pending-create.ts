// One create from its parsed body to its response: the group commit queues this object and settles it
// with the outcome.

import { ApiError, unavailable } from "../base/errors.ts";
import type { Collection, Plant } from "../contract/contract.ts";
import { conflictError, isPlantJson, type ResponseDetails } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { type Exchange, rowTooLarge } from "../http/exchange.ts";
import { createdJson, createdResponse } from "../http/responses.ts";
import type { CreateOutcome, CreateQueue, PendingCreate } from "../store/group-commit.ts";
import type { NewEntry } from "../store/plant-store.ts";
import { entityTag } from "../store/shared/entity-tag.ts";
import { createdVersion, findPlants, type StoredPlant, timesOf } from "../store/shared/plant-rows.ts";
import type { SqlConnection } from "../store/sql-connection.ts";
import type { ChosenId, FreeIds } from "./new-ids.ts";
import { readByKey } from "./recorded-plant.ts";

/** A collection, and what its creates need besides. */
export interface CreateTarget {
  readonly collection: Collection;
  /** Makes the id of a plant without one, where the contract lets the server choose it. */
  readonly newId: () => PlantId;
  /** Finds ids that are left, where the contract allows few. */
  readonly freeIds?: FreeIds | undefined;
  /**
   * The path before an id and after it, where the success of a create has a Location: RFC 9110,
   * section 15.3.2.
   */
  readonly itemPath: readonly string[] | undefined;
  /** Reads what was stored before; undefined where the success of a retry says nothing of it. */
  readonly sql: Pick<SqlConnection, "query"> | undefined;
}

/** Whether the retry of a create with an id of the client says when that was, or has an ETag. */
export function readsRetries({ operations: { create, replace, change } }: Collection): boolean {
  return (create.response?.createdName ?? create.response?.updatedName ?? replace ?? change) !== undefined;
}

type Times = Pick<ResponseDetails, "createdAt" | "changedAt">;

export class PlantCreate implements PendingCreate {
  plant: Plant;
  readonly collection: Collection;
  readonly callerKey: string;
  readonly creator: number | null;
  readonly key: string | null | undefined;
  readonly #exchange: Exchange;
  readonly #target: CreateTarget;
  readonly #queue: Pick<CreateQueue, "create">;
  readonly #chosen: ChosenId | undefined;

  constructor(
    exchange: Exchange,
    target: CreateTarget,
    queue: Pick<CreateQueue, "create">,
    plant: Plant,
    chosen?: ChosenId,
  ) {
    this.#exchange = exchange;
    this.#target = target;
    this.#queue = queue;
    this.#chosen = chosen;
    this.plant = plant;
    // The queue asks for these several times: they are fields, as reading a field costs less.
    this.collection = target.collection;
    this.callerKey = exchange.callerKey;
    this.creator = exchange.caller?.creator ?? null;
    this.key = chosen?.key;
  }

  settle(outcome: CreateOutcome, createdAt?: number): void {
    const { sql } = this.#target;
    if (outcome === "created") this.#accept("created", { createdAt });
    else if (outcome === "taken" && this.#chosen !== undefined)
      this.#finish(this.#tryAnotherId(this.#chosen));
    else if (outcome !== "unchanged" && outcome !== "conflict") this.#reject(outcome);
    else if (typeof this.key === "string" && sql !== undefined)
      this.#finish(this.#settleRetry(sql, this.key));
    else if (outcome === "conflict") this.#reject(outcome);
    else if (sql !== undefined && readsRetries(this.collection)) this.#finish(this.#acceptAgain(sql));
    else this.#accept("unchanged", {});
  }

  fail(error: unknown): void {
    // Sent again, the plant would get another id.
    this.#exchange.fail(error, this.key !== null);
  }

  /** The store has this create no longer in its queue: an exception would be lost. */
  #finish(work: Promise<void>): void {
    work.catch((error: unknown) => this.#exchange.fail(error));
  }

  async #tryAnotherId(chosen: ChosenId): Promise<void> {
    const id = await chosen.another(this.#target.freeIds);
    if (id === undefined) return this.#reject("taken");
    this.plant = { id, values: this.plant.values };
    this.#queue.create(this);
  }

  /** Responds to a create whose plant is stored under the id that the client has chosen. */
  async #acceptAgain(sql: Pick<SqlConnection, "query">): Promise<void> {
    const { id } = this.plant;
    this.#acceptStored((await findPlants(this.collection, sql, [id])).get(id));
  }

  /**
   * Responds to a create whose key has created a plant before. If that was with this body, the request
   * was sent again, and gets the plant as it is now.
   */
  async #settleRetry(sql: Pick<SqlConnection, "query">, key: string): Promise<void> {
    const found = await readByKey(sql, this.collection, key, this.plant.values);
    if (found?.isSame !== false) return this.#acceptStored(found?.stored);
    this.plant = found.stored;
    this.#reject("conflict");
  }

  /** @param stored undefined if it was deleted after the commit had found it. */
  #acceptStored(stored: StoredPlant | undefined): void {
    if (stored !== undefined) {
      this.plant = stored;
      this.#accept("unchanged", timesOf(stored), stored.version);
    } else
      this.#exchange.reject(
        unavailable(`The ${this.collection.words.one} was stored before, and has just been deleted`),
      );
  }

  #reject(outcome: Exclude<CreateOutcome, "created" | "unchanged">): void {
    this.#exchange.reject(errorOfOutcome(outcome, this.collection, this.plant, this.key));
  }

  /** @param times none for a plant that may be stored in other words, such as 19.9 for 19.90. */
  #accept(outcome: "created" | "unchanged", times: Times, version?: bigint): void {
    const { collection, itemPath } = this.#target;
    const { create, replace, change } = collection.operations;
    const exchange = this.#exchange;
    const json = createdJson(collection, this.plant, times, exchange);
    const response = createdResponse(collection, json, exchange.requestId);
    const { createdAt } = times;
    if ((replace ?? change) !== undefined && createdAt !== undefined) {
      const stored = { ...this.plant, createdAt, version: version ?? createdVersion(createdAt) };
      const isWhole = create.response !== undefined && isPlantJson(create.response);
      const tag = entityTag(collection, stored, isWhole ? json : undefined);
      response.headers.set("ETag", tag);
    }
    if (itemPath !== undefined)
      response.headers.set("Location", itemPath.join(encodeURIComponent(String(this.plant.id))));
    exchange.replyCreated(response, outcome);
  }
}

/**
 * The error of a plant that was not stored, or of which this is not known.
 *
 * @param key that of its create.
 */
export function errorOfOutcome(
  outcome: Exclude<CreateOutcome, "created" | "unchanged">,
  collection: Collection,
  plant: Plant,
  key?: NewEntry["key"],
): ApiError {
  const { one } = collection.words;
  switch (outcome) {
    case "conflict":
      return conflictError(collection, plant, typeof key === "string");
    case "taken":
      return new ApiError(
        "unavailable",
        `No id is left for another ${one}: all that the contract allows are taken. Nothing was stored.`,
      );
    case "tooLarge":
      return rowTooLarge;
    case "overloaded":
      return overloaded(collection);
    case "closed":
      return unavailable(`The server is stopping and did not store the ${one}`);
    case "unavailable":
      // Sent again, the plant would get another id.
      if (key === null)
        return new ApiError(
          "unavailable",
          `The store cannot be written now, and the ${one} may have been stored; check before you send it again, or send an Idempotency-Key.`,
        );
      return unavailable(
        `The store cannot be written now, and it is not known whether the ${one} was stored`,
      );
  }
}

/** The error of a create that finds the queue full, or its caller's share of it. */
export function overloaded({ words }: Collection): ApiError {
  return unavailable(`The server is overloaded and did not store the ${words.one}`);
}
