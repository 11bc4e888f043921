// Sends the traffic of a demonstration: two clients create resources for some minutes.

import { setTimeout as sleep } from "node:timers/promises";
import { makeToken, randomBytes } from "../../auth/token.ts";
import { fieldValue, tokenField } from "../../contract/access.ts";
import type { Collection, Plant } from "../../contract/contract.ts";
import { bodyJson, plantJson } from "../../contract/plant.ts";
import { numberedId } from "../../contract/plant-id.ts";
import type { PlantStore } from "../../store/plant-store.ts";

export const trafficMinutes = 5;

const clients = ["garden-center", "greenhouse"];

/** The first id that is sent: a JavaScript number would lose its last digit. */
const firstId = 9_007_199_254_740_993n;

/** The number of the first id that is a text: those of examples are smaller. */
const firstTextId = 1_000_000n;

/**
 * Starts the traffic, which ends when the result is disposed.
 *
 * @param url the base URL of the public listener.
 * @param secondMs how long a second of the traffic takes.
 */
export function startDemoTraffic(url: string, store: PlantStore, secondMs = 1_000): AsyncDisposable {
  const stop = new AbortController();
  const { signal } = stop;
  const { collections } = store.contract;
  let sent = 0;

  async function post(token: string): Promise<void> {
    const { collection, body } = nextCreate();
    const field = tokenField(collection.operations.create.access);
    const headers = {
      "Content-Type": "application/json",
      ...(field !== undefined && { [field[0]]: fieldValue(field, token) }),
    };
    const response = await fetch(url + collection.path, {
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

  /** One collection after the other. */
  function nextCreate() {
    const collection = collections[sent % collections.length] as Collection;
    const { examples, id } = collection;
    const example = examples[Math.floor(sent / collections.length) % examples.length] as Plant;
    const number = BigInt(sent++);
    const ofText = id.format === undefined ? example.id : numberedId(id.format, firstTextId + number);
    const plant = { ...example, id: id.type.kind.name === "integer" ? firstId + number : ofText };
    const body = id.isAccepted ? plantJson(collection, plant) : bodyJson(collection, plant);
    return { collection, body };
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
      const posts = Array.from({ length: creates }, () => post(tokens[sent % tokens.length] ?? ""));
      await Promise.all(posts);
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
