// The two reports of one run, and what no report may contain.

import { expect, test } from "bun:test";
import { describeFailure } from "../../../packages/conformance/src/failures/failure.ts";
import { reproduce } from "../../../packages/conformance/src/failures/reproduce.ts";
import { reportText } from "../../../packages/conformance/src/failures/transcript-text.ts";
import { formatJsonReports } from "../../../packages/conformance/src/reports/json-report.ts";
import { formatTextReports, uncheckedLines } from "../../../packages/conformance/src/reports/text-report.ts";
import {
  type ConformanceRule,
  decision,
  openapi,
  rfc,
} from "../../../packages/conformance/src/rules/rule.ts";
import {
  type CollectionReport,
  type ConformanceReport,
  conforms,
  conformsInAll,
  type RuleResult,
} from "../../../packages/conformance/src/run/run.ts";
import type { HttpResponse } from "../../../packages/conformance/src/wire/exchange.ts";

const token = "pst_secret";

/** The server to which the commands of a report send requests. */
const target = {
  url: new URL("http://127.0.0.1:8080/v1"),
  token,
  secrets: new Set([token, "secret", ""]),
};

/** A create with a body, whose characters are bytes. */
function transcript(body: string, response?: HttpResponse, isConcurrent = false) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const request = { method: "POST", target: "/v1/plants", headers, body: Buffer.from(body, "latin1") };
  return { request, response, isConcurrent };
}

function resultOf(
  id: string,
  basis: ConformanceRule["basis"],
  sources: ConformanceRule["sources"],
  result: Partial<RuleResult>,
): RuleResult {
  const level = id.split(".")[0] as ConformanceRule["level"];
  const rule = { id, level, title: "It <is>.", basis, sources, run: async () => undefined, unfit: undefined };
  return { rule, outcome: "holds", reason: undefined, failures: [], ...result };
}

const response = { status: 200, headers: {}, body: Buffer.from(`{"token":"${token}","name":"\x1b[31m]]>"}`) };
const failures = [
  describeFailure("Basic <b>", "expected 401 & more", [transcript('{"id":10000000001}', response)], target),
  describeFailure("Digest", `cannot connect with ${token}`, [], target),
];
const report: ConformanceReport = {
  url: "http://127.0.0.1:8080/v1",
  version: "0.1.0",
  service: "Plant Store",
  leftOut: [],
  seed: 7,
  startedAt: "2026-11-22T10:00:00.000Z",
  durationMs: 1_234,
  results: [
    resultOf("contract.one", "contract", [openapi("paths./plants.post")], {}),
    resultOf("errors.two", "standard", [rfc(9110, "15.5"), decision("Errors")], {
      outcome: "fails",
      failures,
    }),
    resultOf("errors.three", "decision", [], { outcome: "skipped", reason: "no response was 429" }),
    resultOf("errors.four", "decision", [], { outcome: "skipped", reason: "no response was 429" }),
    resultOf("ids.six", "contract", [], { outcome: "blocked", reason: "blocked by contract.create" }),
  ],
};

const alone = (one: ConformanceReport): readonly CollectionReport[] => [{ name: "parcels", report: one }];

test("the report for people", () => {
  const lines = formatTextReports(alone(report));
  expect(lines).toEqual([
    "Plant Store conformance of http://127.0.0.1:8080/v1",
    "plantstore 0.1.0, 2026-11-22T10:00:00.000Z, --seed 7",
    "",
    "FAIL errors.two: Basic <b>: expected 401 & more",
    '  It <is>. Required by a standard: RFC 9110, section 15.5; docs/decisions.md, "Errors"',
    "  Also: Digest: cannot connect with ***",
    `  $ curl -i 'http://127.0.0.1:8080/v1/plants' -H 'Authorization: Bearer '"$TOKEN" -H 'Content-Type: application/json' --data-raw '{"id":10000000001}'`,
    '  < 200 {"token":"***","name":"\\u{1b}[31m]]>"}',
    "",
    "blocked ids.six (blocked by contract.create)",
    "skip    errors.three, errors.four (no response was 429)",
    "ok      contract.one",
    "",
    "contract: 1 of 2 rules hold, 0 do not, 1 is blocked",
    "standard: 0 of 1 rules hold, 1 does not",
    "decision: 0 of 2 rules hold, 0 do not, 2 were skipped",
    "1 of 5 rules hold, 1 does not, 1 is blocked, 2 were skipped, in 1.2 s",
  ]);
});

test("many rules that fail are a line each after the first, and the end says what was not checked", () => {
  const many = Array.from({ length: 50 }, (_, index) =>
    resultOf(`ids.x${index}`, "contract", [], { outcome: "fails", failures }),
  );
  const lines = formatTextReports(alone({ ...report, results: many }));
  expect(lines.length).toBeLessThan(121);
  expect(lines.filter((line) => line.startsWith("FAIL ids.x"))).toHaveLength(50);
  expect(uncheckedLines(["contract", "standard"])).toEqual([
    "Not checked: retries (the same plant again, another one with its id), codes of errors. --basis all checks them.",
  ]);
  expect(uncheckedLines(["contract", "standard", "decision"])).toEqual([]);
});

const held = { ...report, results: report.results.slice(0, 1) };
const several: readonly CollectionReport[] = [
  { name: "parcels", report },
  { name: "couriers", report: held },
  { name: "rooms", skipped: "the rules need a text of a room" },
  { name: "keys", problem: "no rule can be judged: POST /keys got 404" },
];

test("the report of several collections is grouped by them", () => {
  const lines = formatTextReports(several);
  const own = formatTextReports(alone(report));
  const text = [
    ...own.slice(0, 2),
    "2 of 4 collections are not checked: rooms, keys",
    "",
    "parcels:",
    ...own.slice(2),
    "",
    "couriers:",
    "",
    "ok      contract.one",
    "",
    "1 of 1 rules hold, 0 do not, in 1.2 s",
    "",
    "rooms:",
    "Not checked: the rules need a text of a room",
    "",
    "keys:",
    "Not checked: no rule can be judged: POST /keys got 404",
    "",
    "In all 2 of 6 rules hold, 1 does not, 1 is blocked, 2 were skipped, in 2.5 s",
  ];
  expect(lines).toEqual(text);
});

test("the report as JSON has a part for each collection", () => {
  const results = report.results.map(({ rule: { id }, outcome }) => ({ id, outcome }));
  expect(JSON.parse(formatJsonReports(several))).toMatchObject({
    formatVersion: 1,
    seed: 7,
    conforms: false,
    summary: { rules: 6, holds: 2, fails: 1, blocked: 1, skipped: 2 },
    collections: [
      {
        name: "parcels",
        conforms: false,
        summary: { rules: 5, holds: 1 },
        rules: [
          results[0],
          { id: "errors.two", failures: [{ case: "Basic <b>", response: expect.any(String) }, {}] },
          ...results.slice(2),
        ],
      },
      { name: "couriers", conforms: true },
      several[2],
      several[3],
    ],
  });
});

test("a server conforms in all if it does in each that the rules fit", () => {
  const [, couriers, rooms, keys] = several as [
    CollectionReport,
    CollectionReport,
    CollectionReport,
    CollectionReport,
  ];
  expect([[couriers], [couriers, rooms], [couriers, keys], several].map(conformsInAll)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("a server conforms if no rule fails or is blocked, and one was checked", () => {
  const of = (...outcomes: RuleResult["outcome"][]) =>
    conforms({ results: outcomes.map((outcome) => ({ ...(report.results[0] as RuleResult), outcome })) });
  expect([of("holds"), of("skipped", "holds")]).toEqual([true, true]);
  expect([of("holds", "fails"), of("holds", "blocked"), of("skipped"), of()]).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test("a short token is masked as a word, and not inside of words", () => {
  const secrets = new Set(["wrong"]);
  expect(reportText("wrongly: Bearer wrong, token=wrong", secrets)).toBe("wrongly: Bearer ***, token=***");
  const long = "x".repeat(16);
  expect(reportText(`a${long}b`, new Set([long]))).toBe("a***b");
  expect(reportText(`${long}y`, new Set([long, `${long}y`]))).toBe("***");
});

test("a token at the end of what is shown of a response is masked before that is cut", () => {
  const body = Buffer.from(`${"-".repeat(1_990)}${token}`);
  const sent = transcript("{}", { status: 200, headers: {}, body });
  expect(describeFailure("x", "y", [sent], target).response).toEndWith("-***");
});

test("a body that is too long for a command is named by its bytes, and a race is one line", () => {
  const [long = ""] = reproduce([transcript("x".repeat(100_000))], target);
  expect(long).toEndWith(" --data-binary @BODY # BODY has 100000 bytes");
  const race = reproduce(
    [1, 2].map(() => transcript("{}", undefined, true)),
    target,
  );
  expect(race).toEqual([expect.stringMatching(/^curl .* & curl .* & wait$/)]);
});

test("a short token is $TOKEN where it is a word, and not inside of words", () => {
  const [line] = reproduce([transcript('{"name":"pst_secretly"}')], { ...target, token: "pst_secret" });
  expect(line).toContain(`'Authorization: Bearer '"$TOKEN"`);
  expect(line).not.toContain('"$TOKEN"ly');
});
