// A running sandbox: its addresses, and calls that control it.

import { setTimeout as delay } from "node:timers/promises";
import { Control } from "./control-client.ts";
import type {
  AnyId,
  Clock,
  NewToken,
  RecordedRequest,
  Rule,
  Sent,
  StoredPlant,
  StoredRule,
} from "./control-types.ts";
import { exactId } from "./exact-id.ts";
import type { SandboxProcess } from "./process.ts";
import { SandboxControlError, SandboxEndedError, SandboxError, SandboxStartError } from "./sandbox-errors.ts";

/** The maximum in one response. */
const requestsPerPage = 1_000;

/**
 * The addresses that the command prints when the sandbox is ready.
 * @internal
 */
export interface Addresses {
  readonly url: string;
  readonly plantsUrl: string;
  readonly token: string;
  /** "off" without an admin listener. */
  readonly controlUrl: string;
}

/** A rule that `force` added. */
export interface ForcedRule extends AsyncDisposable {
  readonly id: string;
  /** Removes the rule; without effect if it is not in effect anymore. `await using` calls it. */
  remove(): Promise<void>;
}

export interface RequestsOptions {
  /** Only requests with higher numbers. Default: 0, all that the log holds. */
  readonly after?: number;
  /**
   * Waits so many seconds, a whole number up to 30, for a request if there is none yet. Default: 0.
   */
  readonly waitSeconds?: number;
}

/**
 * Calls reject with a SandboxControlError if rejected, and a SandboxEndedError after the end.
 *
 * @typeParam Resource a resource of the contract.
 */
export class Sandbox<Resource extends object = StoredPlant> implements AsyncDisposable {
  /** The base URL of the service, such as "http://127.0.0.1:43817". */
  readonly url: string;
  /** The URL of the operation: a POST to it creates a plant. */
  readonly plantsUrl: string;
  /** The bearer token that the service accepts. */
  readonly token: string;
  /** The base URL of the admin listener. Its console is at `/console/`. */
  readonly adminUrl: string;
  /** The process of the sandbox. */
  readonly pid: number;
  readonly #process: SandboxProcess;
  readonly #control: Control;
  #closed: Promise<void> | undefined;

  /** @internal Use startSandbox. */
  constructor({ url, plantsUrl, token, controlUrl }: Addresses, process: SandboxProcess) {
    if (controlUrl === "off")
      throw new SandboxStartError("The sandbox has no admin listener; start it without --admin-port off.");
    this.url = url;
    this.plantsUrl = plantsUrl;
    this.token = token;
    this.adminUrl = new URL(controlUrl).origin;
    this.pid = process.pid;
    this.#process = process;
    this.#control = new Control(controlUrl, (error) => this.#networkError(error));
  }

  /**
   * Returns to the start: the plants are the seeds, the rules those of `--rules`, the log of
   * requests is empty, the clock is real, and only the fixed token is accepted. Every create is
   * before or after it.
   */
  async reset(): Promise<void> {
    await this.#control.call("POST", "/reset");
  }

  /**
   * All plants, or resources of another contract, ordered by id. An `id` that is an integer is a
   * bigint.
   */
  async plants(): Promise<Resource[]> {
    const plants: Resource[] = [];
    let after: AnyId | null = null;
    do {
      const query = after === null ? "" : `?after=${encodeURIComponent(String(after))}`;
      const page: { plants: Resource[]; next: AnyId | null } = await this.#control.call(
        "GET",
        `/plants${query}`,
      );
      plants.push(...page.plants.map(withExactId));
      after = page.next;
    } while (after !== null);
    return plants;
  }

  /**
   * A plant by its id; undefined if there is none. Throws a TypeError for a number that is not a
   * safe integer.
   */
  async plant(id: AnyId): Promise<Resource | undefined> {
    const path = `/plants/${encodeURIComponent(String(withExactId({ id }).id))}`;
    try {
      return withExactId(await this.#control.call<Resource>("GET", path));
    } catch (error) {
      if (error instanceof SandboxControlError && error.status === 404) return undefined;
      throw error;
    }
  }

  /**
   * Stores a plant, or a resource of another contract, with its id, as a create would, but without a
   * request. Returns it with the defaults of the contract.
   */
  async add(plant: Sent<Resource>): Promise<Resource> {
    return withExactId(await this.#control.call<Resource>("POST", "/plants", withExactId(plant)));
  }

  /** The requests and their responses, in the order of their numbers. */
  async requests({ after = 0, waitSeconds }: RequestsOptions = {}): Promise<RecordedRequest[]> {
    const requests: RecordedRequest[] = [];
    let wait = waitSeconds;
    for (let from = after; ; wait = undefined) {
      const query = new URLSearchParams({ after: String(from), limit: String(requestsPerPage) });
      if (wait !== undefined) query.set("wait", String(wait));
      const page = await this.#control.call<{ requests: RecordedRequest[]; next: number }>(
        "GET",
        `/requests?${query}`,
      );
      if (page.requests.length === 0) return requests;
      requests.push(...page.requests);
      from = page.next;
    }
  }

  /** Adds a rule before the others: what happens to which requests. */
  async force(rule: Rule<Resource>): Promise<ForcedRule> {
    const { id } = await this.#control.call<StoredRule>("POST", "/rules", withExactMatch(rule));
    const remove = () => this.#removeRule(id);
    return { id, remove, [Symbol.asyncDispose]: remove };
  }

  /** The rules in their order, also those that have ended. */
  async rules(): Promise<StoredRule<Resource>[]> {
    const { rules } = await this.#control.call<{ rules: StoredRule<Resource>[] }>("GET", "/rules");
    return rules.map(withExactMatch);
  }

  /** Replaces all rules, and starts the sequence of shares and delays again with a seed. */
  async setRules(rules: readonly Rule<Resource>[], { seed }: { readonly seed?: number } = {}): Promise<void> {
    await this.#control.call("PUT", "/rules", { seed, rules: rules.map(withExactMatch) });
  }

  /** Sets the clock by which tokens expire so many seconds ahead of the real time, or behind it. */
  async setClock(offsetSeconds: number): Promise<Clock> {
    return await this.#control.call("PUT", "/clock", { offsetSeconds });
  }

  /** Issues a token, which is accepted at once. */
  async createToken(newToken: NewToken): Promise<string> {
    const { token } = await this.#control.call<{ token: string }>("POST", "/tokens", newToken);
    return token;
  }

  /** Revokes a token by its name, at once. */
  async revokeToken(name: string): Promise<void> {
    await this.#control.call("DELETE", `/tokens/${encodeURIComponent(name)}`);
  }

  /** Ends the sandbox, and resolves when its process has ended. May be called again. */
  close(): Promise<void> {
    this.#closed ??= this.#process.stop();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #removeRule(id: string): Promise<void> {
    try {
      await this.#control.call("DELETE", `/rules/${encodeURIComponent(id)}`);
    } catch (error) {
      // It has ended, or a reset removed it.
      if (!(error instanceof SandboxControlError && error.status === 404)) throw error;
    }
  }

  async #networkError(cause: Error): Promise<SandboxError> {
    if (this.#closed !== undefined) return new SandboxEndedError("The sandbox is closed.");
    // The connection ends before the process does.
    await Promise.race([this.#process.ended, delay(1_000)]);
    const { end, output } = this.#process;
    if (end === undefined)
      return new SandboxError(`No response from ${this.adminUrl}: ${cause.message}`, { cause });
    return new SandboxEndedError(`The sandbox has ended (${end}). ${lastLine(output)}`.trim(), { cause });
  }
}

/**
 * An object whose `id` is a bigint, if it is a number. Throws a TypeError for one that is not a safe
 * integer.
 * @internal
 */
export function withExactId<T extends object>(object: T): T {
  return "id" in object && typeof object.id === "number" ? { ...object, id: exactId(object.id) } : object;
}

function withExactMatch<T extends { readonly match?: object }>(rule: T): T {
  return rule.match === undefined ? rule : { ...rule, match: withExactId(rule.match) };
}

/**
 * The last line of an output that is not empty; "" without one.
 * @internal
 */
export function lastLine(output: string): string {
  return output.trimEnd().split("\n").at(-1) ?? "";
}
