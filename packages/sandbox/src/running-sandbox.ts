// Controls a running sandbox, and has its addresses.

import { setTimeout as delay } from "node:timers/promises";
import { Control } from "./control-client.ts";
import type {
  AnyId,
  Clock,
  Sandbox as ControlState,
  NewToken,
  RecordedRequest,
  Rule,
  Sent,
  StoredPlant,
  StoredRule,
} from "./control-types.ts";
import type { SandboxProcess } from "./process.ts";
import { addRule, type ForcedRule, SandboxCollection, withExactMatch } from "./sandbox-collection.ts";
import { SandboxEndedError, SandboxError, SandboxStartError } from "./sandbox-errors.ts";

/** The maximum in one response. */
const requestsPerPage = 1_000;

/**
 * The addresses that the command prints when the sandbox is ready.
 * @internal
 */
export interface Addresses {
  readonly url: string;
  readonly resourcesUrl: string;
  readonly token: string;
  /** "off" without an admin listener. */
  readonly controlUrl: string;
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
  /** A POST to this URL creates a resource of the first collection of the contract. */
  readonly resourcesUrl: string;
  /** The bearer token that the service accepts. */
  readonly token: string;
  /** The base URL of the admin listener. Its console is at `/console/`. */
  readonly adminUrl: string;
  /** The process of the sandbox. */
  readonly pid: number;
  readonly #process: SandboxProcess;
  readonly #control: Control;
  /** Undefined before the first call that needs it. */
  #firstName: string | undefined;
  #closed: Promise<void> | undefined;

  /** @internal Use startSandbox. */
  constructor({ url, resourcesUrl, token, controlUrl }: Addresses, process: SandboxProcess) {
    if (controlUrl === "off")
      throw new SandboxStartError("The sandbox has no admin listener; start it without --admin-port off.");
    this.url = url;
    this.resourcesUrl = resourcesUrl;
    this.token = token;
    this.adminUrl = new URL(controlUrl).origin;
    this.pid = process.pid;
    this.#process = process;
    this.#control = new Control(controlUrl, (error) => this.#networkError(error));
  }

  /**
   * Returns to the start: the resources are the seeds, the rules those of `--rules`, the log of
   * requests is empty, the clock is real, and only the fixed token is accepted. Every create is
   * before or after it.
   */
  async reset(): Promise<void> {
    await this.#control.call("POST", "/reset");
  }

  /**
   * A collection of the contract by its name, which is the last segment of its path, or all of it
   * where another one has the same.
   *
   * @typeParam Other a resource of the collection.
   */
  collection<Other extends object>(name: string): SandboxCollection<Other> {
    return new SandboxCollection<Other>(name, this.#control);
  }

  /**
   * All resources of the first collection of the contract, ordered by id. An `id` that is an integer is
   * a bigint.
   */
  async resources(): Promise<Resource[]> {
    return (await this.#first()).resources();
  }

  /**
   * A resource of the first collection by its id; undefined if there is none. Throws a TypeError for a number that is not a
   * safe integer.
   */
  async resource(id: AnyId): Promise<Resource | undefined> {
    return (await this.#first()).resource(id);
  }

  /**
   * Stores a resource of the first collection with its id, as a create would, but without a request.
   Returns it with the defaults of the contract.
   */
  async add(resource: Sent<Resource>): Promise<Resource> {
    return (await this.#first()).add(resource);
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
  force(rule: Rule<Resource>): Promise<ForcedRule> {
    return addRule(this.#control, rule);
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

  async #first(): Promise<SandboxCollection<Resource>> {
    if (this.#firstName === undefined) {
      const { collections } = await this.#control.call<ControlState>("GET", "");
      this.#firstName = collections[0]?.name;
      if (this.#firstName === undefined) throw new SandboxError("The contract has no collection.");
    }
    return this.collection(this.#firstName);
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
 * The last line of an output that is not empty; "" without one.
 * @internal
 */
export function lastLine(output: string): string {
  return output.trimEnd().split("\n").at(-1) ?? "";
}
