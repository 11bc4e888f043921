// The three reports of one run against their golden files, and what no report may contain.

import { expect, test } from "bun:test";
import { formatJsonReport } from "../../../src/conformance/json-report.ts";
import { formatJunitReport } from "../../../src/conformance/junit-report.ts";
import { decision, openapi, type Rule, rfc } from "../../../src/conformance/rule.ts";
import { type ConformanceReport, conforms, type RuleResult } from "../../../src/conformance/run.ts";
import { formatTextReport } from "../../../src/conformance/text-report.ts";
import { describeFailure, transcriptLines } from "../../../src/conformance/transcript-text.ts";
import { processorMs } from "../../support/processes.ts";

const golden = (name: string) => Bun.file(new URL(`golden/${name}`, import.meta.url)).text();
const bytesOf = (text: string) => Buffer.from(text, "latin1");
const token = "pst_secret";

function ruleOf(id: string, title: string, basis: Rule["basis"], sources: Rule["sources"]): Rule {
  const level = id.split(".")[0] as Rule["level"];
  return { id, level, title, basis, sources, run: async () => undefined };
}

const secrets = new Set([token, "secret", ""]);

const failures = [
  describeFailure(
    "Basic <b>",
    'expected the status 401, received 200 & "more"',
    [
      {
        sent: bytesOf(
          `POST /plants HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n\r\n{"id":1,"name":"caf\xe9"}`,
        ),
        received: bytesOf(`HTTP/1.1 200 OK\r\nX-Echo: ${token}\r\n\r\n{"name":"\x1b[31m]]>"}`),
        problem: undefined,
      },
      {
        sent: bytesOf(`POST /a-path HTTP/1.1\r\n\r\n${"x".repeat(3_000)}POST /a-path HTTP/1.1\r\n\r\n`),
        received: new Uint8Array(),
        problem: "no response in 5000 ms",
      },
    ],
    secrets,
  ),
  describeFailure(undefined, `cannot connect to 127.0.0.1:1 with ${token}`, [], secrets),
].map((failure, index) => ({ ...failure, omitted: index === 0 ? 2 : 0 }));

const results: readonly RuleResult[] = [
  {
    rule: ruleOf("contract.one", "A plant is a plant.", "contract", [openapi("paths./plants.post")]),
    outcome: "holds",
    durationMs: 1.5,
    reason: undefined,
    failures: [],
  },
  {
    rule: ruleOf("errors.two", "An error is an error.", "standard", [rfc(9110, "15.5"), decision("Errors")]),
    outcome: "fails",
    durationMs: 20,
    reason: undefined,
    failures,
  },
  {
    rule: ruleOf("errors.three", "A rate is a rate.", "decision", [decision("Rate of a token")]),
    outcome: "skipped",
    durationMs: 0,
    reason: "no response was 429",
    failures: [],
  },
  {
    rule: ruleOf("errors.four", "A plant is not an error.", "contract", [openapi("paths./plants.post")]),
    outcome: "fails",
    durationMs: 1,
    reason: undefined,
    failures: failures.slice(0, 1).map((failure) => ({ ...failure, case: "Digest" })),
  },
  {
    rule: ruleOf("http.five", "A trailer is a trailer.", "standard", [rfc(9112, "7.1.2")]),
    outcome: "known",
    durationMs: 1,
    reason: "the parser rejects trailers",
    failures: failures.slice(0, 1),
  },
  {
    rule: ruleOf("http.six", "An id is an id.", "contract", [openapi("paths./plants.post")]),
    outcome: "holds",
    durationMs: 1,
    reason: "0: an id that is taken cannot be told from one that is rejected",
    failures: [],
  },
];

const report: ConformanceReport = {
  url: "http://127.0.0.1:8080/v1",
  version: "0.1.0",
  startedAt: "2026-11-22T10:00:00.000Z",
  durationMs: 1_234,
  ids: [
    { from: -(2n ** 60n), to: -(2n ** 60n) + 9n },
    { from: 2n ** 40n, to: 2n ** 40n + 9n },
  ],
  results,
  hints: ["Most requests got 404."],
};

test("the report for people, and on a terminal in colours", async () => {
  const [plain, coloured] = [false, true].map((colours) => formatTextReport(report, { colours }).join("\n"));
  expect(`${plain}\n`).toBe(await golden("report.txt"));
  expect(coloured).toContain("\x1b[31mFAIL\x1b[0m");
  expect(Bun.stripANSI(coloured ?? "")).toBe(plain ?? "");
});

test("the report as JSON", async () => {
  expect(`${formatJsonReport(report)}\n`).toBe(await golden("report-json.txt"));
});

/** The attributes of each element by junit-10.xsd of Jenkins' xunit plugin, which others follow. */
const junitAttributes: Readonly<Record<string, readonly string[]>> = {
  testsuites: ["name", "time", "tests", "failures", "disabled", "errors"],
  testsuite: [
    "name",
    "tests",
    "failures",
    "errors",
    "skipped",
    "time",
    "timestamp",
    "hostname",
    "id",
    "package",
  ],
  testcase: ["name", "assertions", "time", "classname", "status"],
  failure: ["type", "message"],
  skipped: ["type", "message"],
};

test("the report as JUnit XML", async () => {
  const text = `${formatJunitReport(report).join("\n")}\n`;
  expect(text).toBe(await golden("report.xml"));
  for (const [, element = "", attributes = ""] of text.matchAll(/<([a-z]+)((?: [a-z]+="[^"]*")*)\/?>/g))
    for (const [, name = ""] of attributes.matchAll(/ ([a-z]+)=/g))
      expect(junitAttributes[element]).toContain(name);
});

test("the JUnit report has none of the characters that XML has not", () => {
  const [first, ...others] = results as [RuleResult, ...RuleResult[]];
  const odd = { ...first, rule: { ...first.rule, title: "\uffff\ufffe" } };
  const text = formatJunitReport({ ...report, results: [odd, ...others] }).join("\n");
  expect(text).toContain("\ufffd\ufffd");
  expect(text).not.toMatch(/[\ufffe\uffff]/);
});

test("a server conforms if no rule fails and one was checked", () => {
  const of = (...outcomes: RuleResult["outcome"][]) =>
    conforms({ results: outcomes.map((outcome) => ({ ...(results[0] as RuleResult), outcome })) });
  expect(of("holds")).toBe(true);
  expect(of("skipped", "known")).toBe(true);
  expect(of("holds", "fails")).toBe(false);
  expect(of("skipped")).toBe(false);
  expect(of()).toBe(false);
});

test("a transcript of any bytes takes linear time", () => {
  const bytes = Buffer.from("HTTP/1.1 200".repeat(300_000));
  let lines: readonly string[] = [];
  const render = () => {
    lines = transcriptLines(bytes, new Set(["secret"]));
  };
  expect(processorMs(render)).toBeLessThan(2_000);
  expect(lines.at(-1)).toBe("… 3,598,000 more characters");
});
