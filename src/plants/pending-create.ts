// One create from its parsed body to its response: the group commit queues this object and settles it
// with the outcome.

import type { Collection, Plant, Values } from "../contract/contract.ts";
import type { ResponseDetails } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { Exchange } from "../http/exchange.ts";
import { plantResponse } from "../http/responses.ts";
import type { CreateOutcome, CreateQueue, PendingCreate } from "../store/group-commit.ts";
import { createdVersion, type StoredPlant, timesOf } from "../store/shared/plant-rows.ts";
import type { ChosenId, FreeIds } from "./chosen-id.ts";
import { errorOfOutcome, unreadable } from "./create-errors.ts";
import { entityTag } from "./entity-tag.ts";
import type { readByKey } from "./recorded-plant.ts";

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
  /**
   * Reads a plant that was stored before, and rejects if it cannot; undefined where the success of
   * a retry says nothing of it.
   */
  readonly readStored: ((id: PlantId) => Promise<StoredPlant>) | undefined;
  /** See readByKey of recorded-plant.ts; undefined where the server chooses no ids. */
  readonly readByKey?: ((key: string, values: Values) => ReturnType<typeof readByKey>) | undefined;
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
    if (outcome === "created") this.#accept(createdAt);
    else if (outcome === "taken" && this.#chosen !== undefined) void this.#tryAnotherId(this.#chosen);
    else if (outcome !== "unchanged" && outcome !== "conflict") this.#reject(outcome);
    else if (typeof this.key === "string") void this.#settleRetry(this.key);
    else if (outcome === "unchanged") this.#acceptAgain();
    else this.#reject(outcome);
  }

  fail(error: unknown): void {
    // Sent again, the plant would get another id.
    this.#exchange.fail(error, this.key !== null);
  }

  #accept(createdAt: number | undefined): void {
    if (this.#exchange.claim()) this.#send("created", { createdAt });
  }

  /** Responds to a create whose plant is stored under the id that the client has chosen. */
  #acceptAgain(): void {
    if (!this.#exchange.claim()) return;
    const { readStored, collection } = this.#target;
    if (readStored === undefined) this.#send("unchanged", {});
    else
      readStored(this.plant.id).then(
        (stored) => this.#sendStored(stored),
        () => this.#exchange.sendError(unreadable(collection)),
      );
  }

  async #tryAnotherId(chosen: ChosenId): Promise<void> {
    try {
      const id = await chosen.another(this.#target.freeIds);
      if (id === undefined) return this.#reject("taken");
      this.plant = { id, values: this.plant.values };
      this.#queue.create(this);
    } catch {
      this.#reject("unavailable");
    }
  }

  /**
   * Responds to a create whose key has created a plant before. If that was with this body, the request
   * was sent again, and gets the plant as it is now.
   */
  async #settleRetry(key: string): Promise<void> {
    try {
      const found = await this.#target.readByKey?.(key, this.plant.values);
      if (found === undefined) throw new Error("The server does not choose ids");
      if (!found.isSame) {
        this.plant = found.stored;
        this.#reject("conflict");
      } else if (this.#exchange.claim()) this.#sendStored(found.stored);
    } catch {
      this.#exchange.reject(unreadable(this.collection));
    }
  }

  #reject(outcome: Exclude<CreateOutcome, "created" | "unchanged">): void {
    this.#exchange.reject(errorOfOutcome(outcome, this.collection, this.plant, this.key));
  }

  #sendStored(stored: StoredPlant): void {
    this.plant = stored;
    this.#send("unchanged", timesOf(stored), stored.version);
  }

  /** @param times none for a plant that may be stored in other words, such as 19.9 for 19.90. */
  #send(outcome: "created" | "unchanged", times: Times, version?: bigint): void {
    const { collection, itemPath } = this.#target;
    const { replace, change } = collection.operations;
    const exchange = this.#exchange;
    const response = plantResponse(collection, this.plant, exchange.requestId, times, exchange);
    const { createdAt } = times;
    if ((replace ?? change) !== undefined && createdAt !== undefined) {
      const stored = { ...this.plant, createdAt, version: version ?? createdVersion(createdAt) };
      response.headers.set("ETag", entityTag(collection, stored));
    }
    if (itemPath !== undefined)
      response.headers.set("Location", itemPath.join(encodeURIComponent(String(this.plant.id))));
    exchange.sendCreated(response, outcome);
  }
}
