// Sends hostile requests, and checks their outcomes.

import { type ErrorCode, errorRegistry } from "../../../src/base/errors.ts";
import type { Target } from "../../support/http.ts";
import type { Load } from "../../support/load.ts";
import { exchangeRaw, type RawAnswer, rawAnswers } from "../../support/raw-connection.ts";
import { bodyOf, createdPlant, fill, firstId, type HostileRequest, smuggledId } from "./requests.ts";

export class HostileClient {
  readonly #target: Target;
  readonly #load: Load;
  #nextId = firstId;

  /** @param load records the plants that hostile requests create. */
  constructor(target: Target, load: Load) {
    this.#target = target;
    this.#load = load;
  }

  /**
   * Sends all requests, `atOnce` at a time, and returns the errors of those with an outcome that is
   * not allowed.
   */
  async unexpected(requests: readonly HostileRequest[], atOnce = 16): Promise<string[]> {
    const found: string[] = [];
    const left = requests.values();
    const sender = async () => {
      for (const request of left) {
        const error = await this.#findError(request);
        if (error !== undefined) found.push(error);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sender));
    return found;
  }

  async #findError({ name, bytes, allowed }: HostileRequest): Promise<string | undefined> {
    // Ids repeat after 900,000.
    const id = this.#nextId++;
    if (this.#nextId === smuggledId) this.#nextId = firstId;
    const outcomes = await exchange(this.#target.url, fill(bytes, { id, token: this.#target.token }));
    const [first = "", ...later] = outcomes;
    const mayBeStored = first === "bare" && allowed.includes("destroySockets");
    if (first === "created" || mayBeStored) this.#load.sent.set(id, bodyOf(id));
    if (first === "created") this.#load.acknowledged.add(id);
    const isAllowed = mayBeStored || (allowed as string[]).includes(first);
    // The remainder of a request must not be accepted as another one.
    if (isAllowed && later.every((outcome) => outcome === "bare")) return undefined;
    return `${name}: ${outcomes.join(", then ")}, not ${allowed.join(" or ")}`;
  }
}

/**
 * Sends bytes on a new connection, until it is closed or has a complete response. Returns the
 * outcomes; one that is never allowed as its status and text.
 */
export async function exchange(url: string, bytes: string): Promise<string[]> {
  // The server has read the bytes after the first request when it answers: they arrive together.
  const { answers, rest } = rawAnswers(await exchangeRaw(url, bytes));
  if (rest !== "") return [`a broken answer: ${rest.slice(0, 100)}`];
  return answers.length === 0 ? ["bare"] : answers.map(outcomeOf);
}

const codes = Object.keys(errorRegistry) as ErrorCode[];

function outcomeOf({ status, headers, body }: RawAnswer): string {
  // Bun rejects an unknown version with 505, and everything else with a 4xx.
  if (body === "" && ((status >= 400 && status < 500) || status === 505)) return "bare";
  if (status === 200 && body === createdPlant) return "created";
  if (status === 200 && /^(?:\{"openapi":|<!doctype html>)/i.test(body)) return "served";
  const isJson = headers.get("content-type") === "application/json";
  const { error, message } = isJson ? JSON.parse(Buffer.from(body, "latin1").toString()) : {};
  const code = codes.find((each) => errorRegistry[each].error === error);
  const isError = Math.trunc(error / 100) === status && typeof message === "string" && message !== "";
  return isError && code !== undefined ? code : `${status} ${body.slice(0, 200)}`;
}
