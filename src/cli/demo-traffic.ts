// The traffic of a demonstration: two clients for some minutes, an edit, and a burst of errors.

import { setTimeout as sleep } from "node:timers/promises";
import { makeToken, randomBytes } from "../core/auth/token.ts";
import { tokenField } from "../core/contract/access.ts";
import {
  type Collection,
  onlyCollection,
  type Plant,
  type Values,
  valueEquals,
} from "../core/contract/contract.ts";
import { bodyJson, plantJson } from "../core/contract/plant.ts";
import type { PlantEdit } from "../core/store/plant-edit.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { commandRun } from "./edit-plants.ts";

export const trafficMinutes = 5;

const clients = ["garden-center", "greenhouse"];

/** The first id that is sent: a JavaScript number would lose its last digit. */
const firstId = 9_007_199_254_740_993n;

const editSecond = 5;
const errorsSecond = 10;
const errorsCount = 20;

/**
 * The edit that the history shows: the second example gets a value that another one has, of its
 * group if possible. Undefined if the examples do not differ.
 */
export function demoEdit({ fields, examples, groupField }: Collection): PlantEdit | undefined {
  const edited = examples[1] ?? examples[0];
  if (edited === undefined) return undefined;
  const inOrder = fields.toSorted((one, other) => Number(other === groupField) - Number(one === groupField));
  for (const field of inOrder) {
    const index = fields.indexOf(field);
    const before = edited.values[index];
    const other = examples.find(
      ({ values }) => values[index] !== undefined && !valueEquals(field, values[index], before),
    );
    if (other === undefined) continue;
    const replacement = edited.values.with(index, other.values[index]);
    return { id: edited.id, expected: edited.values, replacement };
  }
  return undefined;
}

/**
 * Starts the traffic, which ends when the result is disposed.
 *
 * @param url the base URL of the public listener.
 * @param secondMs how long a second of the traffic takes.
 */
export function startDemoTraffic(url: string, store: PlantStore, secondMs = 1_000): AsyncDisposable {
  const stop = new AbortController();
  const { signal } = stop;
  const collection = onlyCollection(store.contract);
  const { examples } = collection;
  let sent = 0;

  async function post(token: string, body: string): Promise<void> {
    const [name, prefix] = tokenField(collection.operations.create.access) ?? [];
    const headers = {
      "Content-Type": "application/json",
      ...(name !== undefined && { [name]: `${prefix}${token}` }),
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

  function bodyOf(id: bigint, values: Values): string {
    return collection.id.isAccepted
      ? plantJson(collection, { id, values })
      : bodyJson(collection, { id, values });
  }

  function nextBody(): string {
    const { values } = examples[sent % examples.length] as Plant;
    return bodyOf(firstId + BigInt(sent++), values);
  }

  /** Sends common mistakes: a token with a typo, an id as text, a taken id. */
  async function sendErrors(token: string): Promise<void> {
    const { values } = examples.at(-1) as Plant;
    const taken = bodyOf(firstId, values);
    const withTextId = collection.id.isAccepted ? plantJson(collection, { id: '"42"', values }) : "[]";
    for (let error = 0; error < errorsCount; error++) {
      await post("pst_typo", taken);
      await post(token, error % 2 === 0 ? withTextId : taken);
    }
  }

  async function run(): Promise<void> {
    const edit = demoEdit(collection);
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
      if (second === editSecond && edit !== undefined) await commandRun(store).edit(collection, [edit]);
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
