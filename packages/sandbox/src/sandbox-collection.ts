// Reads and adds the resources of one collection of a running sandbox, and forces its outcomes.

import type { Control } from "./control-client.ts";
import type { AnyId, Rule, Sent, StoredRule } from "./control-types.ts";
import { SandboxControlError } from "./sandbox-errors.ts";

/** A rule that `force` added. */
export interface ForcedRule extends AsyncDisposable {
  readonly id: string;
  /** Removes the rule; without effect if it is not in effect anymore. `await using` calls it. */
  remove(): Promise<void>;
}

/** @typeParam Resource a resource of the collection. */
export class SandboxCollection<Resource extends object> {
  readonly name: string;
  readonly #control: Control;
  readonly #path: string;

  /** @internal Use the method `collection` of a sandbox. */
  constructor(name: string, control: Control) {
    this.name = name;
    this.#control = control;
    this.#path = `/${encodeURIComponent(name)}`;
  }

  /** All resources, ordered by id. An `id` that is an integer is a bigint. */
  async resources(): Promise<Resource[]> {
    const resources: Resource[] = [];
    let after: AnyId | null = null;
    do {
      const query = after === null ? "" : `?after=${encodeURIComponent(String(after))}`;
      const page: { resources: Resource[]; next: AnyId | null } = await this.#control.call(
        "GET",
        this.#path + query,
      );
      resources.push(...page.resources.map(withExactId));
      after = page.next;
    } while (after !== null);
    return resources;
  }

  /**
   * A resource by its id; undefined if there is none. Throws a TypeError for a number that is not a
   * safe integer.
   */
  async resource(id: AnyId): Promise<Resource | undefined> {
    const path = `${this.#path}/${encodeURIComponent(String(withExactId({ id }).id))}`;
    try {
      return withExactId(await this.#control.call<Resource>("GET", path));
    } catch (error) {
      if (error instanceof SandboxControlError && error.status === 404) return undefined;
      throw error;
    }
  }

  /**
   * Stores a resource with its id, as a create would, but without a request. Returns it with the
   * defaults of the contract.
   */
  async add(resource: Sent<Resource>): Promise<Resource> {
    return withExactId(await this.#control.call<Resource>("POST", this.#path, withExactId(resource)));
  }

  /** Adds a rule before the others: what happens to which requests of this collection. */
  force(rule: Rule<Resource>): Promise<ForcedRule> {
    return addRule(this.#control, { ...rule, match: { ...rule.match, collection: this.name } });
  }
}

/**
 * Adds a rule before the others.
 * @internal
 */
export async function addRule(control: Control, rule: { readonly match?: object }): Promise<ForcedRule> {
  const { id } = await control.call<StoredRule>("POST", "/rules", withExactMatch(rule));
  const remove = () => removeRule(control, id);
  return { id, remove, [Symbol.asyncDispose]: remove };
}

async function removeRule(control: Control, id: string): Promise<void> {
  try {
    await control.call("DELETE", `/rules/${encodeURIComponent(id)}`);
  } catch (error) {
    // It has ended, or a reset removed it.
    if (!(error instanceof SandboxControlError && error.status === 404)) throw error;
  }
}

/**
 * An object whose `id` is a bigint, if it is a number. Throws a TypeError for one that is not a safe
 * integer.
 * @internal
 */
export function withExactId<T extends object>(object: T): T {
  if (!("id" in object) || typeof object.id !== "number") return object;
  if (Number.isSafeInteger(object.id)) return { ...object, id: BigInt(object.id) };
  throw new TypeError(
    `"id" must be a bigint or a safe integer, but is the number ${object.id}; use a bigint for large ids, such as 9007199254740993n`,
  );
}

/**
 * A rule with the exact id of its match.
 * @internal
 */
export function withExactMatch<T extends { readonly match?: object }>(rule: T): T {
  return rule.match === undefined ? rule : { ...rule, match: withExactId(rule.match) };
}
