// One create from its parsed body to its response: the group commit queues this object and settles it
// with the outcome.

import type { Collection, Plant } from "../contract/contract.ts";
import type { ResponseDetails } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { Exchange } from "../http/exchange.ts";
import { plantResponse } from "../http/responses.ts";
import type { CreateOutcome, CreateQueue, PendingCreate } from "../store/group-commit.ts";
import { errorOfOutcome, type IdSource, unreadable } from "./create-errors.ts";
import { entityTag } from "./entity-tag.ts";
import type { StoredPlant } from "./recorded-plant.ts";

/** What the creates of a collection need besides it. */
export interface CreateTarget {
  readonly collection: Collection;
  /** Makes the id of a plant without one, where the contract lets the server choose it. */
  readonly newId: () => PlantId;
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
  /**
   * Reads a plant that was created as it is given, and changed since; undefined if it was created
   * otherwise. Rejects if it cannot. Undefined where the store chooses no ids.
   */
  readonly readChanged?: ((plant: Plant) => Promise<StoredPlant | undefined>) | undefined;
}

/** The ids that a create tries. */
export const takenIdsMax = 100;

type Times = Pick<ResponseDetails, "createdAt" | "changedAt">;

export class PlantCreate implements PendingCreate {
  plant: Plant;
  readonly collection: Collection;
  readonly callerKey: string;
  readonly creator: number | null;
  readonly key: null | undefined;
  readonly #exchange: Exchange;
  readonly #target: CreateTarget;
  readonly #queue: Pick<CreateQueue, "create">;
  readonly #idSource: IdSource;
  #idsTried = 1;

  constructor(
    exchange: Exchange,
    target: CreateTarget,
    queue: Pick<CreateQueue, "create">,
    plant: Plant,
    idSource: IdSource,
  ) {
    this.#exchange = exchange;
    this.#target = target;
    this.#queue = queue;
    this.#idSource = idSource;
    this.plant = plant;
    // The queue asks for these several times: they are fields, as reading a field costs less.
    this.collection = target.collection;
    this.callerKey = exchange.callerKey;
    this.creator = exchange.caller?.creator ?? null;
    this.key = idSource === "server" ? null : undefined;
  }

  settle(outcome: CreateOutcome, createdAt?: number): void {
    if (outcome === "created" || outcome === "unchanged") this.#accept(outcome, createdAt);
    else if (outcome === "conflict" && this.#idSource === "server" && this.#idsTried < takenIdsMax)
      this.#tryAnotherId();
    else if (outcome === "conflict" && this.#idSource === "key") void this.#settleRetry();
    else this.#reject(outcome);
  }

  fail(error: unknown): void {
    // Sent again, the plant would get another id.
    this.#exchange.fail(error, this.#idSource !== "server");
  }

  #accept(outcome: "created" | "unchanged", createdAt: number | undefined): void {
    if (!this.#exchange.claim()) return;
    const { readStored, collection } = this.#target;
    // A plant is unchanged under an id that the server chose only if the engine lost a connection,
    // and repeated the batch, with the same time.
    if (outcome === "created" || this.#idSource === "server") this.#send(outcome, { createdAt });
    else if (readStored === undefined) this.#send(outcome, {});
    else
      readStored(this.plant.id).then(
        (stored) => this.#sendStored(stored),
        () => this.#exchange.sendError(unreadable(collection, this.plant)),
      );
  }

  /** Of short ids, all may be taken. */
  #tryAnotherId(): void {
    this.#idsTried++;
    this.plant = { id: this.#target.newId(), values: this.plant.values };
    this.#queue.create(this);
  }

  /**
   * Responds to a create whose Idempotency-Key has created what is now another plant. If that was
   * first what this body has, the request was sent again, and has the plant as it is now.
   */
  async #settleRetry(): Promise<void> {
    try {
      const stored = await this.#target.readChanged?.(this.plant);
      if (stored === undefined) this.#reject("conflict");
      else if (this.#exchange.claim()) this.#sendStored(stored);
    } catch {
      this.#exchange.reject(unreadable(this.collection, this.plant));
    }
  }

  #reject(outcome: Exclude<CreateOutcome, "created" | "unchanged">): void {
    this.#exchange.reject(errorOfOutcome(outcome, this.collection, this.plant, this.#idSource));
  }

  #sendStored(stored: StoredPlant): void {
    this.plant = stored.plant;
    this.#send("unchanged", stored);
  }

  /** @param times none for a plant that may be stored in other words, such as 19.9 for 19.90. */
  #send(outcome: "created" | "unchanged", times: Times): void {
    const { collection, itemPath } = this.#target;
    const { replace, change } = collection.operations;
    const exchange = this.#exchange;
    const response = plantResponse(collection, this.plant, exchange.requestId, times, exchange);
    if ((replace ?? change) !== undefined && times.createdAt !== undefined)
      response.headers.set("ETag", entityTag(collection, this.plant, times.createdAt));
    if (itemPath !== undefined)
      response.headers.set("Location", itemPath.join(encodeURIComponent(String(this.plant.id))));
    exchange.sendCreated(response, outcome);
  }
}
