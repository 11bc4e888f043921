// Starts and stops the checkpoint thread.

import type { StoreEvents } from "../plant-store.ts";
import type { CheckpointSignals } from "./checkpoint-signals.ts";
import type { CheckpointWorker } from "./checkpoint-worker.ts";
import { WorkerClient } from "./worker-rpc.ts";

export class Checkpointer {
  readonly #worker: WorkerClient<CheckpointWorker>;
  readonly #signals: CheckpointSignals;
  #ended: Promise<void> = Promise.resolve();

  private constructor(signals: CheckpointSignals, { onUnavailable }: StoreEvents) {
    this.#signals = signals;
    this.#worker = new WorkerClient<CheckpointWorker>(new URL("./checkpoint-worker.ts", import.meta.url), {
      name: "checkpoint",
      callsInFlightMax: 1,
      onNotification: onUnavailable,
    });
  }

  /**
   * Starts the thread for a store that the committing thread has opened. Calls `onFailed` with a
   * DiskFailureError if an fsync has failed; the committing thread has it from the signals by then.
   */
  static async start(path: string, signals: CheckpointSignals, events: StoreEvents): Promise<Checkpointer> {
    const checkpointer = new Checkpointer(signals, events);
    try {
      await checkpointer.#worker.call("checkpoints", "open", path, signals.memory);
    } catch (error) {
      checkpointer.#worker.terminate();
      throw error;
    }
    checkpointer.#ended = checkpointer.#worker.call("checkpoints", "run").catch(events.onFailed);
    return checkpointer;
  }

  /**
   * Ends the checkpoints, after the one that is running. Call it before the committing thread
   * closes the store.
   */
  async stop(): Promise<void> {
    this.#signals.stop();
    await this.#ended;
  }

  /** Call it after the committing thread has closed the store. */
  async close(): Promise<void> {
    if (!this.#signals.mayClose) {
      this.#worker.abandon();
      return;
    }
    await this.#worker.call("checkpoints", "close");
    this.#worker.terminate();
  }
}
