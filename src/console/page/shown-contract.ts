// The contract of the store that the page shows. The server sends it with the session, before
// anything else is rendered.

import type { PageContract } from "../page-contract.ts";
import { formatCount } from "./formats.ts";

export let contract: PageContract;

export function useContract(received: PageContract): void {
  contract = received;
}

/** The name of the field that groups; undefined if there is none. */
export function groupName(): string | undefined {
  return contract.fields[contract.group]?.name;
}

/** Such as "1 plant" and "1,200 plants". */
export function formatPlants(count: number): string {
  return formatCount(count, contract.one, contract.many);
}
