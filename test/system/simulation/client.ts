// A client of the simulation: creates plants, races for ids, replays, sends invalid requests, and
// records the responses.

import type { Plant, Representation } from "../../../src/contract/contract.ts";
import { plantJson, responseJson } from "../../../src/contract/plant.ts";
import { plant as plantOf, plantStore } from "../../support/contracts.ts";
import type { Random } from "../../support/random.ts";
import type { SimulationParts } from "./environment.ts";
import type { KnownOutcome, Model } from "./model.ts";
import { engineThrewText, type Reply, type SimulatedServer } from "./server.ts";
import type { SqliteEnvironment } from "./sqlite-environment.ts";

export interface ClientParts extends SimulationParts {
  readonly environment: SqliteEnvironment;
  readonly model: Model;
  readonly token: string;
  readonly server: () => SimulatedServer;
  /** Reports a violation. */
  readonly report: (violation: string) => void;
}

/** Ids that all clients use. */
const contested = [1n, -(2n ** 63n), 2n ** 53n + 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, 10n];

const texts = ["", "Monstera", "=", "\u{1f33f}", "\n", '"', "\ufeff", "é", "x".repeat(500)];

export class Client {
  readonly #parts: ClientParts;
  readonly #random: Random;
  readonly #name: string;
  readonly #sent: Plant[] = [];
  #count = 0;

  constructor(parts: ClientParts, name: string) {
    this.#parts = parts;
    this.#random = parts.random.fork();
    this.#name = name;
  }

  async createMany(count: number): Promise<void> {
    const { time } = this.#parts;
    for (let request = 0; request < count; request++) {
      await (this.#random.chance(0.1) ? this.#sendInvalid() : this.#create());
      await time.sleep(
        this.#random.chance(0.5) ? 0 : this.#random.between(0, this.#random.pick([30, 300, 2_000])),
      );
    }
  }

  /** Creates a plant after all faults have ended, so it must be acknowledged. */
  async createLast(): Promise<void> {
    const plant = plantOf({ id: this.#random.int64(), name: `last ${this.#name}` });
    // Some arrive during a commit: their batch must not wait for another request.
    await this.#parts.time.sleep(this.#random.between(0, 3));
    this.#parts.model.send(plant);
    const reply = await this.#postWhileOverloaded(plantJson(plantStore, plant));
    const outcome = knownOutcome(reply);
    if (outcome !== "acknowledged" && outcome !== "conflict")
      this.#parts.report(`not served: ${plantJson(plantStore, plant)} got ${show(reply)} after the faults`);
    this.#record(plant, reply, false);
  }

  /** Retries while the queue is full, as all clients send at the same time; at most 20 times. */
  async #postWhileOverloaded(body: string): Promise<Reply> {
    const triesMax = 20;
    for (let tries = 1; ; tries++) {
      const reply = await this.#post(body, false);
      const isOverloaded = reply !== "disconnected" && reply.text.includes("overloaded");
      if (!isOverloaded || tries === triesMax) return reply;
      await this.#parts.time.sleep(this.#random.between(1, 1_000));
    }
  }

  async #create(): Promise<void> {
    const { plant, isAlone } = this.#choose();
    this.#parts.model.send(plant);
    const reply = await this.#post(plantJson(plantStore, plant));
    if (reply !== "disconnected" && reply.status === 500 && reply.text !== engineThrewText)
      this.#parts.report("internal error: a request was answered 500");
    this.#record(plant, reply, isAlone);
  }

  async #sendInvalid(): Promise<void> {
    const id = this.#random.int64();
    const plant = plantOf({ id, name: `wrong ${this.#name} ${this.#count++}` });
    const json = plantJson(plantStore, plant);
    const [body, status] = this.#random.pick([
      [json.slice(0, -1), 400],
      [json.replace(`"id":${id}`, `"id":${id}.5`), 400],
      [json.replace('"name":"', '"name":"\\u0000'), 400],
      [json.replace("{", `{"tag":null,`), 400],
      [json.replace('"wrong', `"${"y".repeat(2_000)}wrong`), 413],
    ] as const);
    const reply = await this.#post(body);
    // Rejected before the body was read to its end.
    const isLimited =
      reply !== "disconnected" && (reply.status === 408 || /bodies to read|overloaded/.test(reply.text));
    if (reply !== "disconnected" && reply.status !== status && !isLimited)
      this.#parts.report(`wrong status: ${body.slice(0, 80)} got ${show(reply)}`);
  }

  #choose(): { plant: Plant; isAlone: boolean } {
    if (this.#sent.length > 0 && this.#random.chance(0.25))
      return { plant: this.#random.pick(this.#sent), isAlone: false };
    const isContested = this.#random.chance(0.3);
    const id = isContested ? this.#random.pick(contested) : this.#random.int64();
    // Some plants are equal to those of other clients, so that equal plants race too.
    const isShared = isContested && this.#random.chance(0.5);
    const name = isShared
      ? `shared ${this.#random.below(2)}`
      : `${this.#random.pick(texts)} ${this.#name} ${this.#count++}`;
    const plant = plantOf(
      isShared || this.#random.chance(0.5) ? { id, name } : { id, name, tag: this.#random.pick(texts) },
    );
    this.#sent.push(plant);
    return { plant, isAlone: !isShared };
  }

  async #post(body: string, mayBeChunked = true): Promise<Reply> {
    const inChunks = mayBeChunked && this.#random.chance(0.2);
    const { token } = this.#parts;
    const headers = new Headers({ Authorization: `Bearer ${token}`, "Content-Type": "application/json" });
    if (!inChunks) headers.set("Content-Length", String(Buffer.byteLength(body)));
    const request = new Request("http://simulated/plants", {
      method: "POST",
      headers,
      body: inChunks ? this.#inChunks(body) : body,
    });
    const reply = await this.#parts.server().send(request);
    this.#parts.trace(`${this.#name}: ${body.slice(0, 60)} ${show(reply).slice(0, 60)}`);
    return reply;
  }

  /** A body in chunks, sometimes too slow. */
  #inChunks(body: string): ReadableStream<Uint8Array> {
    const { time } = this.#parts;
    const bytes = Buffer.from(body);
    const backoffMs = this.#random.chance(0.1) ? 900 : this.#random.between(0, 20);
    const size = 1 + this.#random.below(bytes.length);
    let at = 0;
    return new ReadableStream({
      async pull(controller) {
        await time.sleep(backoffMs);
        controller.enqueue(bytes.subarray(at, at + size));
        at += size;
        if (at >= bytes.length) controller.close();
      },
    });
  }

  #record(plant: Plant, reply: Reply, isAlone: boolean): void {
    const { model, environment, report } = this.#parts;
    const outcome = knownOutcome(reply);
    model.record(plant, outcome, isAlone);
    if (outcome !== "acknowledged" || reply === "disconnected") return;
    if (
      reply.text !== responseJson(plantStore, plantStore.operations.create.response as Representation, plant)
    )
      report(`misquoted: ${plantJson(plantStore, plant)} got ${reply.text}`);
    if (environment.durablePlant(plant.id) !== plantJson(plantStore, plant))
      report(`too early: ${plantJson(plantStore, plant)} was acknowledged, and is not durable`);
  }
}

function knownOutcome(reply: Reply): KnownOutcome {
  if (reply === "disconnected") return "unknown";
  if (reply.status === 200) return "acknowledged";
  if (reply.status === 400 && reply.text.includes("40009")) return "conflict";
  return reply.status >= 500 && !reply.text.includes("did not") ? "unknown" : "refused";
}

function show(reply: Reply): string {
  return reply === "disconnected" ? reply : `${reply.status} ${reply.text}`;
}
