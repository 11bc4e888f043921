// The contract of the store that the page shows. The server sends it with the session, before
// anything else is rendered.

import type { PageContract, PageField } from "../page-contract.ts";

export type { PageContract, PageField };

export let contract: PageContract = {
  service: "",
  one: "",
  many: "",
  path: "",
  id: { name: "", isText: false, hint: "" },
  fields: [],
  title: -1,
  group: -1,
  searched: [],
  groupExample: "",
  sampleBody: "",
};

export function useContract(received: PageContract): void {
  contract = received;
}

/** The name of the field that groups; undefined if there is none. */
export function groupName(): string | undefined {
  return contract.fields[contract.group]?.name;
}

/** Such as "1 plant" and "1,200 plants". */
export function formatPlants(count: number): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? contract.one : contract.many}`;
}

/** A word at the start of a sentence or a title. */
export function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** A word with "a" or "an" before it. */
export function article(word: string): string {
  return `${/^[aeiou]/i.test(word) ? "an" : "a"} ${word}`;
}
