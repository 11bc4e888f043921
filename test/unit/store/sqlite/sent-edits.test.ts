// Edits as JSON: whatever an edit has comes back as it was, and so do their outcomes.

import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import type { Collection, Contract } from "../../../../src/contract/contract.ts";
import { plantStoreSource } from "../../../../src/openapi/default-contract.ts";
import {
  ContractChanged,
  type PlantEdit,
  type RecordedEdit,
} from "../../../../src/store/shared/plant-edit.ts";
import { DiskFailureError } from "../../../../src/store/sqlite/disk-failure.ts";
import * as sent from "../../../../src/store/sqlite/sent-edits.ts";
import { outcomesText, readEdits, readOutcomes } from "../../../../src/store/sqlite/sent-edits.ts";
import { onlyCollection, readSingle } from "../../../support/contracts.ts";
import { readThings } from "../../../support/descriptions.ts";
import { anyInt64, anyPlantOf, anyString } from "../../../support/random.ts";
import { settled } from "../../../support/settled.ts";

const parcels = { text: await Bun.file(join(import.meta.dir, "../../../contracts/parcels.yaml")).text() };

const anyVersion = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const anyCreation = fc.record(
  { createdAt: fc.maxSafeNat(), creator: fc.option(fc.maxSafeNat()), key: fc.string({ minLength: 1 }) },
  { requiredKeys: ["createdAt", "creator"] },
);
const anyUndo = fc.record({ version: anyVersion, restores: fc.option(anyVersion, { nil: undefined }) });

/** Any edit, as operations, the console and an undo make them. */
function anyEdit(collection: Collection): fc.Arbitrary<PlantEdit> {
  const anyPlant = anyPlantOf(collection);
  const replacement = fc.option(
    anyPlant.map(({ values }) => values),
    { nil: undefined },
  );
  const stored = fc
    .tuple(anyPlant, anyCreation, anyVersion)
    .map(([plant, creation, version]) => ({ ...plant, ...creation, version }));
  const common = { replacement, version: anyVersion };
  return fc.oneof(
    fc.record({ id: anyInt64, expected: fc.constant("any" as const), replacement: fc.constant(undefined) }),
    fc
      .record(
        { expected: stored, ...common, undo: anyUndo },
        { requiredKeys: ["expected", "replacement", "version"] },
      )
      .map((edit) => ({ ...edit, id: edit.expected.id })),
    fc.record(
      { id: anyInt64, expected: fc.constant(undefined), ...common, creation: anyCreation, undo: anyUndo },
      { requiredKeys: ["id", "expected", "replacement", "version", "creation"] },
    ),
  );
}

function record(contract: Contract, edit: PlantEdit, own: Partial<RecordedEdit> = {}): RecordedEdit {
  const { table } = onlyCollection(contract);
  const { number: contractNumber } = contract;
  return { table, contractNumber, run: "r", seq: 0, editor: "{}", editedAt: 0, edit, ...own };
}

const editsText = (contract: Contract, edits: readonly RecordedEdit[]) =>
  sent.editsText(contract, edits, Number.POSITIVE_INFINITY) as string;

test.each([plantStoreSource, parcels])("edits come back as they were: %#", async (source) => {
  const contract = await readSingle(source);
  const own = fc.record({
    ...{ run: anyString, seq: fc.maxSafeNat(), editor: anyString, editedAt: fc.maxSafeNat() },
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(anyEdit(onlyCollection(contract)), own)), (all) => {
      const edits = all.map(([edit, recorded]) => record(contract, edit, recorded));
      expect(readEdits(contract, editsText(contract, edits))).toEqual(edits);
    }),
  );
});

test("integers come back with all their digits", async () => {
  const contract = await readThings({ properties: { size: { type: "integer" } } });
  const values = [2n ** 63n - 1n];
  const stored = { id: 2n ** 63n - 1n, values, createdAt: 0, creator: null, version: 2n ** 63n - 2n };
  for (const expected of [stored, undefined]) {
    const creation = { createdAt: 0, creator: null };
    const edit = { id: stored.id, expected, replacement: values, version: 2n ** 63n - 1n, creation };
    const edits = [record(contract, edit)];
    expect(readEdits(contract, editsText(contract, edits))).toEqual(edits);
  }
});

test("edits whose values are longer than a text may be are not written", async () => {
  const contract = await readSingle(plantStoreSource);
  const expected = { id: 1n, values: ["aaaa", "bb"], createdAt: 0, creator: null, version: 1n };
  const change = { id: 1n, expected, replacement: ["cc", undefined], version: 2n };
  const restored = { ...change, expected: undefined, creation: { createdAt: 0, creator: null } };
  const deletion: PlantEdit = { id: 1n, expected: "any", replacement: undefined };
  const edits = [change, { ...change, replacement: undefined }, restored, deletion].map((edit) =>
    record(contract, edit),
  );
  expect(sent.editsText(contract, edits, 15)).toBeUndefined();
  expect(sent.editsText(contract, edits, 16)).toBe(editsText(contract, edits));
});

test("an id that is a text comes back as one, also of digits", async () => {
  const contract = await readSingle({
    text: parcels.text.replaceAll("type: integer, format: int64", "type: string"),
  });
  for (const id of ["7", 'a\u{1f331}"b']) {
    const edits = [record(contract, { id, expected: "any", replacement: undefined })];
    expect(readEdits(contract, editsText(contract, edits))).toEqual(edits);
  }
});

test("edits that were checked by another contract are neither sent nor read", async () => {
  const contract = await readSingle(plantStoreSource);
  const before: Contract = { ...contract, number: 1 };
  const after: Contract = { ...contract, number: 2 };
  const edit: PlantEdit = { id: 1n, expected: "any", replacement: undefined };
  const edits = [record(after, edit), record(before, edit)];
  expect(() => editsText(after, edits)).toThrow(ContractChanged);
  expect(() => readEdits(after, editsText(before, edits.slice(1)))).toThrow(ContractChanged);
  expect(readEdits(after, editsText(after, edits.slice(0, 1)))).toEqual(edits.slice(0, 1));
});

test("the response has the outcomes, or the error with its class", async () => {
  const outcomes = ["done", "changed"] as const;
  expect(readOutcomes(await outcomesText(async () => outcomes))).toEqual([...outcomes]);
  const failed = await outcomesText(() => Promise.reject(new DiskFailureError("the disk is gone: ü")));
  expect(() => readOutcomes(failed)).toThrow(new DiskFailureError("the disk is gone: ü"));
  const thrown = outcomesText(() => {
    throw new ContractChanged();
  });
  expect(await settled(thrown.then(readOutcomes))).toThrow(new ContractChanged().message);
});
