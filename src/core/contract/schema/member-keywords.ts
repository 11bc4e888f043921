// The keywords for the members of objects and the items of arrays.

import type { Finding, Keywords, Node, Run } from "./node.ts";
import { countPhrase } from "./phrases.ts";
import { ValueSet } from "./values.ts";

/** An object or array. */
type Objects = Readonly<Record<string | number, unknown>>;

/** Adds the limits of a number of items or members. */
export function addCount(
  keywords: Keywords,
  kind: "array" | "object",
  names: readonly [string, string],
  unit: string,
): void {
  const [least, most] = names.map((name) => keywords.count(name));
  const expected = `an ${kind} ${countPhrase(least, most, unit)}`;
  keywords.node.add([kind], (value: object, run) => {
    const count = Array.isArray(value) ? value.length : Object.keys(value).length;
    run.work.spend(Array.isArray(value) ? 0 : count);
    return count >= (least ?? 0) && count <= (most ?? count) ? undefined : run.find(() => expected);
  });
}

function findMissing(names: readonly string[], value: object, run: Run): Finding | undefined {
  run.work.spend(names.length);
  const missing = names.find((name) => !Object.hasOwn(value, name));
  return missing === undefined
    ? undefined
    : run.find(() => `an object with the member ${JSON.stringify(missing)}`);
}

/** A member that must not be there. */
function findSurplus(member: string | number, run: Run): Finding {
  if (typeof member === "number") return run.find(() => `an array ${countPhrase(undefined, member, "item")}`);
  const shown = member.length > 40 ? `${member.slice(0, 40)}…` : member;
  return run.find(() => `an object without the member ${JSON.stringify(shown)}`);
}

/** Applies a schema to a member, which `false` does not allow. */
function findIn(schema: Node, value: Objects, member: string | number, run: Run): Finding | undefined {
  return schema.isFalse ? findSurplus(member, run) : run.applyTo(schema, value[member], member);
}

export function addRequired(keywords: Keywords): void {
  const names = keywords.names(keywords.value("required"), "required");
  keywords.node.add(["object"], (value: object, run) => findMissing(run.requiredOf(names), value, run));
}

export function addDependentRequired(keywords: Keywords): void {
  for (const [name, value] of keywords.entries("dependentRequired")) {
    const names = keywords.names(value, "dependentRequired");
    keywords.node.add(["object"], (object: object, run) =>
      Object.hasOwn(object, name) ? findMissing(names, object, run) : undefined,
    );
  }
}

export function addPropertyNames(keywords: Keywords): void {
  const names = keywords.schemaAt("propertyNames");
  keywords.node.add(["object"], (value: object, run) => {
    for (const name of Object.keys(value)) {
      const found = run.apply(names, name);
      if (found !== undefined) return findSurplus(name, run);
    }
    return undefined;
  });
}

export function addProperties(keywords: Keywords): void {
  const properties = new Map(keywords.schemas("properties"));
  const patterns = keywords
    .schemas("patternProperties")
    .map(([name, schema]) => [keywords.pattern(name, "patternProperties", name), schema] as const);
  const additional = keywords.below("additionalProperties");
  keywords.node.add(["object"], (value: Objects, run, evaluated) => {
    for (const [name, schema] of properties) {
      run.work.spend(1);
      if (!Object.hasOwn(value, name)) continue;
      evaluated?.add(name);
      const found = findIn(schema, value, name, run);
      if (found !== undefined) return found;
    }
    if (patterns.length === 0 && additional === undefined) return undefined;
    const names = Object.keys(value);
    run.work.spend(names.length * (evaluated === undefined ? 1 : 3));
    for (const name of names) {
      let isKnown = properties.has(name);
      for (const [pattern, schema] of patterns) {
        if (!pattern.matches(name, run.work)) continue;
        isKnown = true;
        evaluated?.add(name);
        const found = findIn(schema, value, name, run);
        if (found !== undefined) return found;
      }
      if (isKnown || additional === undefined) continue;
      evaluated?.add(name);
      const found = findIn(additional, value, name, run);
      if (found !== undefined) return found;
    }
    return undefined;
  });
}

export function addItems(keywords: Keywords): void {
  const first = (keywords.array("prefixItems") ?? []).map((_, index) =>
    keywords.schemaAt("prefixItems", String(index)),
  );
  if (Array.isArray(keywords.value("items")))
    throw keywords.wrong("items", "a schema; a list of them is prefixItems");
  const rest = keywords.below("items");
  keywords.node.add(["array"], (value: Objects & readonly unknown[], run, evaluated) => {
    const count = rest === undefined ? Math.min(first.length, value.length) : value.length;
    for (let index = 0; index < count; index++) {
      const schema = first[index] ?? (rest as Node);
      evaluated?.add(index);
      const found = findIn(schema, value, index, run);
      if (found !== undefined) return found;
    }
    return undefined;
  });
}

export function addContains(keywords: Keywords): void {
  const schema = keywords.below("contains");
  const least = keywords.count("minContains") ?? 1;
  const most = keywords.count("maxContains");
  if (schema === undefined) return;
  const range = least === 0 && most === undefined ? "" : countPhrase(least, most, "item").replace(/^of /, "");
  keywords.node.add(["array"], (value: readonly unknown[], run, evaluated) => {
    let count = 0;
    for (let index = 0; index < value.length; index++) {
      if (run.applyTo(schema, value[index], index) !== undefined) continue;
      evaluated?.add(index);
      count++;
    }
    if (count >= least && count <= (most ?? count)) return undefined;
    return run.find(() => `an array with ${range} that its "contains" accepts`);
  });
}

export function addUniqueItems(keywords: Keywords): void {
  if (!keywords.flag("uniqueItems")) return;
  keywords.node.add(["array"], (value: readonly unknown[], run) => {
    const seen = new ValueSet();
    for (let index = 0; index < value.length; index++) {
      // A map grows in some 200 ns.
      run.work.spend(2);
      const before = seen.add(value[index], index, run.work);
      if (before !== undefined)
        return run.find(() => `an array without equal items, such as those at ${before} and ${index}`);
    }
    return undefined;
  });
}

export function addUnevaluated(keywords: Keywords, kind: "array" | "object", name: string): void {
  const { node } = keywords;
  const schema = keywords.schemaAt(name);
  node.asksEvaluated = true;
  node.add([kind], (value: Objects, run, evaluated) => {
    for (const member of Array.isArray(value) ? value.keys() : Object.keys(value)) {
      run.work.spend(1);
      if (evaluated?.has(member)) continue;
      evaluated?.add(member);
      const found = findIn(schema, value, member, run);
      if (found !== undefined) return found;
    }
    return undefined;
  });
}
