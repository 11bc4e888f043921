// The traffic of a demonstration: two clients for some minutes, an edit, and a burst of errors.

import { setTimeout as sleep } from "node:timers/promises";
import { makeToken, randomBytes } from "../core/auth/token.ts";
import { sample, titleField } from "../core/contract/fields.ts";
import { newPlantJson } from "../core/contract/plant.ts";
import type { PlantEdit } from "../core/store/plant-edit.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { demoPlants, editedDemoPlant } from "../product.ts";
import { commandRun } from "./edit-plants.ts";

export const trafficMinutes = 5;

const clients = ["garden-center", "greenhouse"];

/** The first id that is sent: a JavaScript number would lose its last digit. */
const firstId = 9_007_199_254_740_993n;

const editSecond = 5;
const errorsSecond = 10;
const errorsCount = 20;

/** The edit that the history shows, of a plant of the demonstration. */
export const demoEdit = {
  id: 2n,
  expected: demoPlants[1] ?? sample(),
  replacement: editedDemoPlant,
} satisfies PlantEdit;

/**
 * Starts the traffic, which ends when the result is disposed.
 *
 * @param url the base URL of the public listener.
 * @param secondMs how long a second of the traffic takes.
 */
export function startDemoTraffic(url: string, store: PlantStore, secondMs = 1_000): AsyncDisposable {
  const stop = new AbortController();
  const { signal } = stop;
  let sent = 0;

  async function post(token: string, body: string): Promise<void> {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/plants`, {
      method: "POST",
      headers,
      body,
      signal,
      // One of the environment need not reach the addresses of this machine.
      proxy: false,
      // The certificate is for the name that clients use.
      tls: { rejectUnauthorized: false },
    });
    await response.arrayBuffer();
  }

  function nextBody(): string {
    const plant = demoPlants[sent % demoPlants.length] ?? sample();
    return newPlantJson({ ...plant, id: firstId + BigInt(sent++) });
  }

  /** Sends common mistakes: a token with a typo, an id as text, a taken id. */
  async function sendErrors(token: string): Promise<void> {
    const another = sample({ [titleField]: "Another plant" });
    const taken = newPlantJson({ ...another, id: firstId });
    const withTextId = newPlantJson({ ...another, id: '"42"' });
    for (let error = 0; error < errorsCount; error++) {
      await post("pst_typo", taken);
      await post(token, error % 2 === 0 ? withTextId : taken);
    }
  }

  async function run(): Promise<void> {
    const tokens: string[] = [];
    for (const name of clients) {
      const { token, record } = makeToken({ name, expiresAt: null }, { now: Date.now(), randomBytes });
      await store.tokens.add(record);
      tokens.push(token);
    }
    for (let second = 0; second < trafficMinutes * 60; second++) {
      const creates = Math.round(9 + 5 * Math.sin(second / 11) + 3 * Math.sin(second / 4));
      const posts = Array.from({ length: creates }, () =>
        post(tokens[sent % tokens.length] ?? "", nextBody()),
      );
      await Promise.all(posts);
      if (second === editSecond) await commandRun(store).edit([demoEdit]);
      if (second === errorsSecond) await sendErrors(tokens[0] ?? "");
      await sleep(secondMs, undefined, { signal });
    }
  }

  // The stop aborts it.
  const ended = run().catch(() => undefined);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}
