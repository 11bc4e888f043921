// Decides which requests get which outcome, by the rules that a test has set.

import type {
  Match,
  Outcome,
  Rule,
  RuleList,
  StoredRule,
  TextCondition,
} from "../../packages/sandbox/src/control-types.ts";
import { AdminError } from "../admin-pages/admin-responses.ts";
import type { Collection, Contract } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { OperationRow } from "../http/operation.ts";
import { isObject } from "../json/json-values.ts";
import { encodePath, pathShape } from "../json/percent-encoding.ts";
import { controlName } from "./control-document.ts";
import type { ForcedBy } from "./request-log.ts";
import { matchableFields, ruleCheck } from "./rule-check.ts";
import { SeededRandom } from "./seeded-random.ts";

type CountedRule = Rule & { readonly id: string; applied: number; matched: number };

/** The outcome that is forced on a request: what the request asks for, or what a rule has for it. */
export interface ForcedOutcome {
  readonly outcome: Outcome;
  /** The rule or the preferences that force it. */
  readonly by: ForcedBy;
  /** The preferences that are met; undefined for a rule. */
  readonly applied?: string;
}

interface RuleSubject {
  /** Undefined where the request is for no collection. */
  readonly collection?: Collection | undefined;
  /** Undefined where there is none at the path with the method. */
  readonly operation?: Pick<OperationRow, "operationId" | "path"> | undefined;
  readonly method: string;
  readonly headers: Pick<Headers, "get">;
  /** Undefined where the body is not a JSON object. */
  readonly members: Readonly<Record<string, unknown>> | undefined;
  /** The id in the body, or in the path. */
  readonly id: PlantId | undefined;
}

const rulesMax = 100;
const defaultSeed = 1;

export class Rules {
  readonly #collections: readonly Collection[];
  readonly #fieldNames: readonly string[];
  readonly #check: (rule: Rule) => void;
  #rules: readonly CountedRule[] = [];
  #random = new SeededRandom(defaultSeed);
  #lastId = 0;

  constructor(contract: Contract) {
    this.#collections = contract.collections;
    this.#fieldNames = matchableFields(contract).map(({ name }) => name);
    this.#check = ruleCheck(contract);
  }

  get size(): number {
    return this.#rules.length;
  }

  get random(): SeededRandom {
    return this.#random;
  }

  describe(): StoredRule[] {
    return this.#rules.map(describe);
  }

  /** Adds a rule before the others. Throws an AdminError if there are too many, or if it fits nothing. */
  add(source: Rule): StoredRule {
    if (this.#rules.length >= rulesMax)
      throw new AdminError(409, `There may be ${rulesMax} rules; remove one first.`);
    const rule = this.#newRule(source);
    this.#rules = [rule, ...this.#rules];
    return describe(rule);
  }

  /** Replaces all rules, and starts the random sequence again. */
  replace({ rules: sources, seed = defaultSeed }: RuleList): void {
    this.#rules = sources.map((source) => this.#newRule(source));
    this.#random = new SeededRandom(seed);
  }

  /** @returns false if there is no rule with the id. */
  delete(id: string): boolean {
    const others = this.#rules.filter((rule) => rule.id !== id);
    if (others.length === this.#rules.length) return false;
    this.#rules = others;
    return true;
  }

  /** Applies the first rule that matches. Draws from the sequence for each share that counts. */
  match(subject: RuleSubject): ForcedOutcome | undefined {
    const rule = this.#rules.find(
      (each) =>
        !isUsedUp(each) && this.#matches(each.match ?? {}, subject) && ++each.matched > (each.after ?? 0),
    );
    if (rule === undefined) return undefined;
    rule.applied++;
    return { outcome: rule.outcome, by: { rule: rule.id } };
  }

  /** A rule that was read back has an id and a count, which are replaced. */
  #newRule(source: Rule): CountedRule {
    this.#check(source);
    return { ...source, id: `r${++this.#lastId}`, applied: 0, matched: 0 };
  }

  #matches(match: Match, subject: RuleSubject): boolean {
    const { collection, operation, method, headers, members, id } = subject;
    const name = collection && controlName(collection);
    if (match.collection !== undefined && match.collection !== name) return false;
    if (match.method !== undefined && match.method !== method) return false;
    if (match.operation !== undefined && match.operation !== operation?.operationId) return false;
    if (match.path !== undefined && pathShape(encodePath(match.path)) !== pathShape(operation?.path ?? ""))
      return false;
    if (match.id !== undefined && !this.#isId(String(match.id), id, collection)) return false;
    const fields = Object.entries(match.headers ?? {});
    if (!fields.every(([name, wanted]) => meets(headers.get(name) ?? undefined, wanted))) return false;
    if (!this.#matchesMembers(match, members)) return false;
    // The share is the last condition: a number is drawn only if all others hold.
    return match.share === undefined || this.#random.next() < match.share;
  }

  /** Compares ids as they are stored: a UUID may be written in capitals. */
  #isId(text: string, id: PlantId | undefined, collection = this.#collections[0]): boolean {
    return id !== undefined && String(collection?.id.type.parse(text) ?? text) === String(id);
  }

  #matchesMembers(match: Match, members: RuleSubject["members"]): boolean {
    const fields = Object.entries(match).filter(([name]) => this.#fieldNames.includes(name));
    const wanted = [...fields, ...Object.entries(match.body ?? {})].filter(
      ([, value]) => value !== undefined,
    );
    if (members === undefined) return wanted.length === 0;
    return wanted.every(([name, value]) =>
      meets(Object.hasOwn(members, name) ? members[name] : undefined, value),
    );
  }
}

function describe({ id, applied, matched: _, ...source }: CountedRule): StoredRule {
  return { id, ...source, applied };
}

function isUsedUp({ times, applied }: CountedRule): boolean {
  return times !== undefined && applied >= times;
}

/** @param value undefined if there is none. */
function meets(value: unknown, wanted: unknown): boolean {
  if (!isObject(wanted)) return Bun.deepEquals(value, wanted);
  const { absent, pattern = "" } = wanted as TextCondition;
  if (absent) return value === undefined;
  return typeof value === "string" && new RegExp(pattern, "u").test(value);
}

export function drawDelayMs({ seconds }: NonNullable<Outcome["delay"]>, random: SeededRandom): number {
  if (typeof seconds === "number") return seconds * 1_000;
  const [least, most] = seconds;
  return (least + random.next() * (most - least)) * 1_000;
}
