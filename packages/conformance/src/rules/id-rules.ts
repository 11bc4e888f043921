// Checks ids: every int64 is a distinct id, exact to the last digit, and nothing else is an id.

import { hasNegative, isAllInt64, isWide } from "../plants/id-limits.ts";
import type { Contents } from "../requests/contents.ts";
import { expectClientError, expectPlant } from "../requests/expectations.ts";
import { type RuleContext, takenOrRejected } from "../requests/rule-context.ts";
import { RuleSkipped } from "../wire/rule-ends.ts";
import {
  byContract,
  byDecision,
  type ConformanceRule,
  decision,
  placesIn,
  rfc,
  rulesOf,
  unfitReasons,
} from "./rule.ts";

const idDecision = decision("`id`");
const sameAgain = decision("The same id with the same content again");

/** Sends ids as they stand in a body, none of which is an int64. The control is one that is. */
function expectRejectedIds(
  check: RuleContext,
  ids: readonly string[],
  control = () => check.id(),
): Promise<void> {
  const { contents } = check;
  return check.each(
    ids,
    (id) => check.expectInvalid(contents.plantJson(id, "Monstera")),
    () => check.create(contents.plantJson(control(), "Monstera")),
  );
}

/** Two notations of an id are one id: what one created, the other cannot replace, and repeats. */
async function expectSameId(check: RuleContext, one: string, other: string): Promise<void> {
  await check.case(`${one} and ${other}`, async () => {
    const { contents } = check;
    await check.expectCreated(contents.plantJson(one, "Monstera"), { name: "Monstera" });
    expectClientError(await check.create(contents.plantJson(other, "Ficus")));
    await check.expectCreated(contents.plantJson(other, "Monstera"), { name: "Monstera" });
  });
}

/** Sends an id that an earlier run, or the plant of another client, may have taken. */
async function expectId(check: RuleContext, id: string): Promise<void> {
  await check.case(id, async () => {
    const name = "Monstera";
    const response = await check.create(check.contents.plantJson(id, name));
    const isTaken = response.status < 300 ? false : await check.isTaken(response);
    if (isTaken === undefined && response.status >= 400 && response.status < 500)
      throw new RuleSkipped(takenOrRejected);
    if (isTaken !== true) expectPlant(check.contents, response, { name });
  });
}

/** Creates plants with different ids, of which a server that misreads ids takes some for one. */
async function expectDistinct(check: RuleContext, ids: readonly bigint[]): Promise<void> {
  for (const [index, id] of ids.entries()) {
    const rejected = index === 0 ? undefined : `the id ${id} is rejected, or taken for ${ids[0]}`;
    await check.expectPlant(id, `plant ${index}`, undefined, rejected);
  }
}

/** Creates plants with ids that are derived from a new one. */
function distinct(idsOf: (id: bigint) => readonly bigint[]): ConformanceRule["run"] {
  return async (check) => {
    await check.skipUnlessConflicts();
    await expectDistinct(check, idsOf(check.id()));
  };
}

export function idRules(contents: Contents): readonly ConformanceRule[] {
  const { idLimits } = contents;
  const hasAllIds = isAllInt64(idLimits);
  const hasNegativeIds = hasNegative(idLimits);
  const hasWideIds = isWide(idLimits);
  const { limitedIds } = unfitReasons;
  const signs = hasNegativeIds ? { positive: 1n, negative: -1n } : { positive: 1n };
  const idSchema = placesIn(contents).body;
  return rulesOf(contents, "ids", {
    limits: {
      unfit: !hasAllIds && limitedIds,
      title: "The smallest and largest int64, their neighbours, and 0 are ids.",
      required: byContract(idSchema),
      run: async (check) => {
        await check.cases({ "near the largest": 1n, "near the smallest": -1n }, (sign) =>
          check.expectPlant(sign * (2n ** 63n - 1n - check.distance()), "Monstera"),
        );
        for (const id of ["-9223372036854775808", "9223372036854775807", "0"]) await expectId(check, id);
      },
    },
    negative: {
      unfit: !hasNegativeIds && limitedIds,
      title: "An id may be negative, and differs from its absolute value.",
      required: byContract(idSchema),
      run: distinct((id) => [id, -id]),
    },
    "beyond-32-bits": {
      unfit: !hasWideIds && limitedIds,
      title: "Ids with equal lower 32 bits are different plants.",
      required: byContract(idSchema),
      run: distinct((id) => [id, id + 2n ** 32n]),
    },
    "beyond-53-bits": {
      unfit: !hasWideIds && limitedIds,
      title: "Ids that are equal as doubles (beyond 2^53) are different plants.",
      required: byContract(idSchema, idDecision),
      run: async (check) => {
        await check.skipUnlessConflicts();
        await check.cases(signs, (sign) =>
          expectDistinct(
            check,
            check.idGroup().map((id) => sign * id),
          ),
        );
      },
    },
    "above-range": {
      title: "An integer beyond 64 bits is not an id.",
      required: byContract(idSchema),
      // Most have a double, and lower 64 bits, that no other plant has: a server that reads them so
      // accepts them.
      run: (check) => {
        const above = () => 2n ** 63n + check.distance();
        const ids = [
          `${above()}`,
          `${-above()}`,
          `${2n ** 64n + check.distance()}`,
          `${above()}`.replace(/^(.)(.*)$/, "$1.$2e18"),
          `${check.id()}e9`,
          `${check.id()}e280`,
          `${check.id()}${"0".repeat(280)}`,
        ];
        return expectRejectedIds(check, ids, hasAllIds ? () => 2n ** 63n - 1n - check.distance() : undefined);
      },
    },
    fraction: {
      title: "A number with a fraction is not an id.",
      required: byContract(idSchema),
      run: (check) => {
        const id = () => check.id();
        return expectRejectedIds(check, [`${id()}.5`, `-${id()}.5`, `${id()}5e-1`, `${id()}45e-2`]);
      },
    },
    "exact-fraction": {
      // RFC 8259 lets a reader limit the precision of numbers, and the contract does not say which
      // it needs for fractions.
      title: "A number whose fraction is beyond the digits of a double is not an id.",
      required: byDecision(idDecision, rfc(8259, "6")),
      run: async (check) => {
        const [first, second, third] = [check.id(), check.id(), check.idGroup()[1]];
        // A server that rounds the second one takes the next id.
        check.id();
        await expectRejectedIds(check, [
          `${first}.0000000000000000001`,
          `${second}.99999999999999999999999`,
          `${third}.0000000000000000000000000001`,
        ]);
      },
    },
    notations: {
      unfit: !hasWideIds && limitedIds,
      title: "1.0, 10e-1, 1E+0 and 1 are the same id, and exact also beyond 2^53.",
      required: byDecision(idDecision, rfc(8259, "6"), sameAgain),
      run: async (check) => {
        const [a, b, c] = [check.id(), check.id(), check.id()];
        await expectSameId(check, `${a}.0`, `${a}`);
        await expectSameId(check, `${b}`, `${b}00e-2`);
        const sign = hasNegativeIds ? "-" : "";
        await expectSameId(check, `${sign}${c}`, `${sign}${c}0.00E-1`);
        const [d, e] = [check.id(), check.id()];
        await expectSameId(check, `${d}00`, `${d}E+2`);
        await expectSameId(check, `${e}00`, `${e}e+02`);
        const [, f, g] = check.idGroup();
        const [, h] = check.idGroup();
        await expectSameId(check, `${f}`, `${f}.0`);
        await expectSameId(check, `${g}000e-3`, `${g}`);
        await expectSameId(check, `${h}`, `${h}`.replace(/^(\d)(\d+)$/, "$1.$2e18"));
      },
    },
    "zero-notations": {
      unfit: (idLimits.least > 0n || idLimits.greatest < 0n) && limitedIds,
      title: "-0 and 0 with any exponent are the id 0.",
      required: byDecision(idDecision),
      run: async (check) => {
        for (const id of ["-0", "0e99999999", "-0.0E-99999999"]) await expectId(check, id);
      },
    },
    "string-is-no-id": {
      title: "A string of digits is not an id.",
      required: byContract(idSchema),
      run: (check) =>
        expectRejectedIds(check, [`"${check.id()}"`, `"${check.idGroup()[1]}"`, `"-${check.id()}"`]),
    },
  });
}
