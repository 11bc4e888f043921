// Gives a rule what it needs to run: ids and plants, creates, and checks of their responses.

import type { ErrorCode } from "../../../../src/base/errors.ts";
import type { HttpResponse, RequestParts } from "../wire/exchange.ts";
import { RuleSkipped } from "../wire/rule-ends.ts";
import { learnConflict } from "./conflict.ts";
import { newId } from "./contents.ts";
import {
  type ErrorFields,
  expectClientError,
  expectError,
  expectPlant,
  expectReturnedId,
  expectThat,
  type PlantFields,
} from "./expectations.ts";
import { RuleCases } from "./rule-cases.ts";
import type { Conflict } from "./run-state.ts";
import { TestClient } from "./test-client.ts";

export class RuleContext extends RuleCases {
  /** The length of a long text, and the levels of deep nesting, in a body below the limit. */
  get longLength(): number {
    return Math.min(100_000, Math.trunc(this.target.bodyBytesMax / 4));
  }

  idGroup(): readonly [bigint, bigint, bigint] {
    return this.state.ids.nextGroup();
  }

  distance(): bigint {
    return this.state.ids.nextDistance();
  }

  /** A plant as JSON with a new id, in as many bytes. */
  plantOfLength(bytes: number): { readonly body: string; readonly name: string } {
    const id = this.id();
    const name = "x".repeat(bytes - this.contents.plantJson(id, "").length);
    if (this.contents.takesTitle(name)) return { body: this.contents.plantJson(id, name), name };
    // A shorter title, and white space.
    return { body: this.contents.plantJson(id, "Monstera").padEnd(bytes), name: "Monstera" };
  }

  /** A text with a new id in place of `newId`. */
  withNewId(text: string): string {
    return text.replaceAll(newId, String(this.contents.idOfNumber(this.id())));
  }

  /** Keeps a text that was made of the token out of the report, also in percent-encoding. */
  secret(text: string): string {
    this.state.secrets.add(text).add(encodeURIComponent(text));
    return text;
  }

  /**
   * Whether a response says that an id is taken by another plant. A server shows how it says so in
   * a response of the run; undefined if it cannot be told from the response to a body that is
   * invalid.
   */
  async isTaken(response: HttpResponse): Promise<boolean | undefined> {
    if (!this.contents.sendsIds) return false;
    return (await this.#conflict()).recognize(response);
  }

  /**
   * Skips a rule that tells two ids apart by creating a plant with each: a server that accepts any
   * number of plants with one id would pass it.
   */
  async skipUnlessConflicts(): Promise<void> {
    if ((await this.#conflict()).isAccepted)
      throw new RuleSkipped(
        "the server accepts another plant with an id that is taken, which --rule idempotence judges",
      );
  }

  async #conflict(): Promise<Conflict> {
    this.state.conflict ??= await learnConflict(new TestClient(this.state));
    return this.state.conflict;
  }

  /** Sends a body that must be accepted as this plant. */
  async expectCreated(body: string | Uint8Array, plant: PlantFields): Promise<void> {
    expectPlant(this.contents, await this.create(body), plant);
  }

  /** Creates a plant, which must be accepted. */
  async expectPlant(id: bigint, name: string, tag?: string, rejected?: string): Promise<HttpResponse> {
    const response = await this.create(this.contents.plantJson(id, name, tag));
    expectPlant(this.contents, response, { name, tag }, rejected);
    expectReturnedId(this.contents, response, id);
    return response;
  }

  /** Creates another plant, which must be accepted with these header fields. */
  async expectMonstera(headers: RequestParts["headers"]): Promise<void> {
    expectPlant(this.contents, await this.create(this.plant(), headers), { name: "Monstera" });
  }

  /**
   * Sends a body that must be rejected for what it is, and not because its id was changed to one
   * that is taken. Returns false if that is certain.
   */
  async expectInvalid(body: string): Promise<false | undefined> {
    const response = await this.create(body);
    expectClientError(response);
    const isTaken = await this.isTaken(response);
    expectThat(isTaken !== true, "expected the body to be rejected; its id was changed to one that is taken");
    return isTaken;
  }

  /**
   * Does the same for a body without a number as its id, which may be taken for 0 or 1. It is sent
   * twice: by then such an id is taken, so that every run gets the same response.
   */
  async expectInvalidWithoutId(body: string): Promise<void> {
    await this.create(body);
    if ((await this.expectInvalid(body)) === undefined) throw new RuleSkipped(takenOrRejected);
  }

  async expectRejected(body: string | Uint8Array, code: ErrorCode): Promise<ErrorFields> {
    return expectError(this.contents, await this.create(body), code);
  }
}

/** Why a rule cannot be checked on a server that responds to both alike. */
export const takenOrRejected = "an id that is taken cannot be told from one that is rejected";
