// The lines of a start about a contract: one for each kind of note, what is not served last.

import { expect, test } from "bun:test";
import { noteLines } from "../../../src/process/contract-notes.ts";

const unserved = (path: string, reason = "") =>
  `GET ${path} is not served${reason}: it responds with 501 (at /paths/${path.replaceAll("/", "~1")}/get)`;
const headers = ["a", "b", "c", "d", "e"].map(
  (name) => `the header field ${name} is not sent (at /headers/${name})`,
);
const notes = [
  unserved("/x"),
  ...headers,
  unserved("/y", ", as it has none"),
  unserved("/z"),
  'the keyword "if" is not known, and not checked (at /if)',
  "callbacks are not sent (at /1)",
  "callbacks are not sent (at /2)",
];

test("a kind has one line, with its number and three pointers, and what is not served comes last", () => {
  expect(noteLines(notes, [], "kinds")).toEqual([
    "contract: 11 notes, a line for each kind; --notes all prints each note",
    "contract: the header field … is not sent (5 times: at /headers/a, /headers/b, /headers/c, 2 more)",
    'contract: the keyword "if" is not known, and not checked (at /if)',
    "contract: callbacks are not sent (2 times: at /1, /2)",
    "contract: an operation is not served: it responds with 501 (2 times: at /paths/~1x/get, /paths/~1z/get)",
    `contract: ${unserved("/y", ", as it has none")}`,
  ]);
});

test("all of them are printed where that is asked for", () => {
  const lines = noteLines(notes, [], "all");
  expect(lines).toHaveLength(11);
  expect(lines.slice(-3)).toEqual(
    [unserved("/x"), unserved("/y", ", as it has none"), unserved("/z")].map((each) => `contract: ${each}`),
  );
  expect(lines).toContain(`contract: ${headers[4]}`);
});

test("there is none on an operation that is served otherwise, and none without notes", () => {
  const own = ["/x", "/y", "/z"].map((path) => ({ method: "GET", path })) as never;
  expect(noteLines(notes, own, "kinds").join()).not.toContain("is not served");
  expect(noteLines([], [], "kinds")).toEqual([]);
});
