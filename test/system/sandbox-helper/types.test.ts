// The types of plantstore/sandbox against the OpenAPI document of control: the same members, with
// the same values.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkProgram, generateTypes } from "../../support/npm-packages.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const root = new URL("../../..", import.meta.url).pathname;
const folder = new TemporaryFolder();
let documentTypes: string;
beforeAll(async () => {
  const document = join(root, "src/sandbox/openapi-control.yaml");
  documentTypes = await generateTypes(document, folder, { arrayLength: true, defaultNonNullable: false });
});
afterAll(() => folder[Symbol.dispose]());

/** Ids are numbers in the generated types, and codes are not those of errors alone. */
const source = `
import type * as Helper from "${root}packages/sandbox/src/index.ts";
import type { components } from "./control.ts";

type Schemas = components["schemas"];
type SameKeys<A, B> = [keyof A] extends [keyof B] ? ([keyof B] extends [keyof A] ? true : false) : false;
const same = <A, B>(_: SameKeys<A, B>): void => undefined;
same<Helper.RecordedRequest, Schemas["RecordedRequest"]>(true);
same<Helper.RecordedRequest["request"], Schemas["RecordedRequest"]["request"]>(true);
same<Helper.RecordedResponse, NonNullable<Schemas["RecordedRequest"]["response"]>>(true);
same<Helper.StoredRule, Schemas["AppliedRule"]>(true);
same<Helper.Match, Schemas["Match"]>(true);
same<Helper.Outcome, Schemas["Outcome"]>(true);
same<Helper.StoredPlant, Schemas["StoredPlant"]>(true);
same<Helper.Snapshot, Schemas["Snapshots"][number]>(true);
same<Helper.Clock, Schemas["Clock"]>(true);

export const accepted: [
  (request: Omit<Schemas["RecordedRequest"], "error">) => Omit<Helper.RecordedRequest, "error">,
  (rule: Omit<Schemas["AppliedRule"], "match" | "outcome">) => Omit<Helper.StoredRule, "match" | "outcome">,
  (match: Omit<Helper.Match, "id" | "body">) => Omit<Schemas["Match"], "id" | "body">,
  (match: Omit<Schemas["Match"], "id">) => Omit<Helper.Match, "id">,
  (outcome: Omit<Schemas["Outcome"], "delay">) => Omit<Helper.Outcome, "delay">,
  (snapshot: Schemas["Snapshots"][number]) => Helper.Snapshot,
  (clock: Schemas["Clock"]) => Helper.Clock,
] = [(each) => each, (each) => each, (each) => each, (each) => each, (each) => each, (each) => each, (each) => each];
export const delay = ({ uniform, ...delay }: Helper.Delay & { uniform?: unknown }): Omit<NonNullable<Schemas["Outcome"]["delay"]>, "uniform"> => delay;
`;

function check(types: string): Promise<void> {
  writeFileSync(folder.file("control.ts"), types);
  return checkProgram(folder, source);
}

test("each has the members and the values of the other", async () => {
  await check(documentTypes);
  for (const [text, replacement] of [
    ["isTruncated?:", "wasCut?:"],
    ['"clientAborted"', '"gone"'],
    ["50300", "50400"],
    ["bytesPerSecond?: number", "bytesPerSecond?: string"],
  ] as const) {
    expect(documentTypes).toContain(text);
    expect(await settled(check(documentTypes.replaceAll(text, replacement)))).toThrow("program.ts");
  }
});
