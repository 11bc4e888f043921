// Creates over many connections, with a record of the plants that were sent and acknowledged.

import { eventually } from "./eventually.ts";
import { plantJson, post, type Target } from "./http.ts";

export class Load {
  /** Every plant that was ever sent, as export prints it. */
  readonly sent = new Map<bigint, string>();
  readonly acknowledged = new Set<bigint>();
  /** The number of responses with each status. */
  readonly statuses = new Map<number, number>();
  /** Why requests had no answer at all. */
  readonly unanswered: unknown[] = [];
  #nextId = 1n;
  #stopped = false;
  readonly #clients: Promise<void>[] = [];

  /** A load that continues this one, on a copy of its store. */
  continued(): Load {
    const next = new Load();
    for (const [id, plant] of this.sent) next.sent.set(id, plant);
    for (const id of this.acknowledged) next.acknowledged.add(id);
    next.#nextId = this.#nextId;
    return next;
  }

  /** Creates until a connection fails, for example when the server is killed, or until stop(). */
  startUntilGone(targets: readonly Target[], connections: number): void {
    this.#start(targets, connections, "end");
  }

  /** Creates until stop(), also while servers are down, with pauses of `backoffMs`. */
  start(targets: readonly Target[], connections: number, backoffMs = 0): void {
    this.#start(targets, connections, "go on", backoffMs);
  }

  /** Resolves when every client has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#clients);
  }

  /** Ends every client; resolves after their last requests. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.ended();
  }

  /** Resolves when `count` more plants are acknowledged. */
  async acknowledgedMore(count: number): Promise<void> {
    const wanted = this.acknowledged.size + count;
    await eventually(
      `${wanted} plants are acknowledged`,
      () => this.acknowledged.size,
      (plants) => plants >= wanted,
    );
  }

  /** Compares an export with the record: plants that are missing, changed or were never sent. */
  audit(exported: string): string[] {
    const lines = exported.split("\n").filter((line) => line !== "");
    const stored = new Map(
      lines.map((line) => [BigInt(/^\{"id":(-?\d+),/.exec(line)?.[1] ?? Number.NaN), line]),
    );
    return [
      ...[...this.acknowledged].filter((id) => !stored.has(id)).map((id) => `lost: ${id}`),
      ...[...stored]
        .filter(([id, line]) => this.sent.get(id) !== line)
        .map(([id]) => `changed or never sent: ${id}`),
    ];
  }

  #start(targets: readonly Target[], connections: number, onFailure: "end" | "go on", backoffMs = 0): void {
    const runOne = async (target: Target) => {
      while (!this.#stopped) {
        const gone = !(await this.#createOne(target));
        if (gone && onFailure === "end") return;
        if (gone || backoffMs > 0) await Bun.sleep(Math.max(backoffMs, gone ? 20 : 0));
      }
    };
    for (let index = 0; index < connections; index++) {
      const target = targets[index % targets.length];
      if (target !== undefined) this.#clients.push(runOne(target));
    }
  }

  /** Whether there was an answer at all. */
  async #createOne(target: Target): Promise<boolean> {
    // Spread over all of int64, so that pages are split and rewritten, not only appended.
    const id = BigInt.asIntN(64, this.#nextId++ * 0x9e37_79b9_7f4a_7c15n);
    const plant = plantJson(id, `plant ${id}`.repeat(1 + Number(id & 7n)), `tag ${id}`);
    this.sent.set(id, plant);
    try {
      const { status } = await post(target, plant);
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (status === 200) this.acknowledged.add(id);
      return true;
    } catch (error) {
      // The server is gone. The audit accepts this plant as stored or not.
      this.unanswered.push(error);
      return false;
    }
  }
}
