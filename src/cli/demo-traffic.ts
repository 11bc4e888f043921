// The traffic of a demonstration: two clients for some minutes, an edit, and a burst of errors.

import { setTimeout as sleep } from "node:timers/promises";
import { makeToken, randomBytes } from "../core/auth/token.ts";
import { newPlantJson, type Plant } from "../core/contract/plant.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { EditRun } from "../operations/edits.ts";
import { commandEditor } from "./edit-plants.ts";

export const trafficMinutes = 5;

const clients = ["garden-center", "greenhouse"];

/** The first id that is sent: a JavaScript number would lose its last digit. */
const firstId = 9_007_199_254_740_993n;

const editSecond = 5;
const errorsSecond = 10;
const errorsCount = 20;

/** A plant of the demonstration, and what an operator makes of it. */
export interface DemoEdit {
  readonly id: bigint;
  readonly expected: Plant;
  readonly replacement: Plant;
}

export class DemoTraffic implements AsyncDisposable {
  readonly #url: string;
  readonly #store: PlantStore;
  readonly #plants: readonly Plant[];
  readonly #secondMs: number;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #sent = 0;

  /**
   * Starts the traffic.
   *
   * @param url the base URL of the public listener.
   * @param plants are sent again and again under new ids.
   * @param secondMs how long a second of the traffic takes.
   */
  constructor(url: string, store: PlantStore, plants: readonly Plant[], edit: DemoEdit, secondMs = 1_000) {
    this.#secondMs = secondMs;
    this.#url = url;
    this.#store = store;
    this.#plants = plants;
    // The stop aborts it; and where the certificate is not trusted, for example, there is no traffic.
    this.#ended = this.#run(edit).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #run(edit: DemoEdit): Promise<void> {
    const tokens: string[] = [];
    for (const name of clients) {
      const { token, record } = makeToken({ name, expiresAt: null }, { now: Date.now(), randomBytes });
      await this.#store.tokens.add(record);
      tokens.push(token);
    }
    for (let second = 0; second < trafficMinutes * 60; second++) {
      const creates = Math.round(9 + 5 * Math.sin(second / 11) + 3 * Math.sin(second / 4));
      const sent = Array.from({ length: creates }, () =>
        this.#post(tokens[this.#sent % clients.length] ?? "", this.#nextBody()),
      );
      await Promise.all(sent);
      if (second === editSecond) await new EditRun(this.#store, commandEditor()).edit([edit]);
      if (second === errorsSecond) await this.#sendErrors(tokens[0] ?? "");
      await sleep(this.#secondMs, undefined, { signal: this.#stop.signal });
    }
  }

  #nextBody(): string {
    const index = this.#sent++;
    const plant = this.#plants[index % this.#plants.length] ?? { name: "" };
    return newPlantJson({ ...plant, id: firstId + BigInt(index) });
  }

  /** Sends common mistakes: a token with a typo, an id as text, a taken id. */
  async #sendErrors(token: string): Promise<void> {
    const taken = `{"id":${firstId},"name":"Another plant"}`;
    for (let sent = 0; sent < errorsCount; sent++) {
      await this.#post("pst_typo", taken);
      await this.#post(token, sent % 2 === 0 ? '{"id":"42","name":"Ficus"}' : taken);
    }
  }

  async #post(token: string, body: string): Promise<void> {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
    const { signal } = this.#stop;
    const response = await fetch(`${this.#url}/plants`, { method: "POST", headers, body, signal });
    await response.arrayBuffer();
  }
}
