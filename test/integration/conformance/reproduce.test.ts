// The commands of a report, which show a fault again: a shell sends the very bytes.

import { expect, test } from "bun:test";
import { reproduce } from "../../../packages/conformance/src/failures/reproduce.ts";
import { bytesOf, post, target, token, transcript } from "../../support/transcripts.ts";

const shell = async (line: string, environment: Record<string, string> = {}) =>
  await new Response(
    Bun.spawn(["bash", "-c", line], { env: { PATH: `${process.env.PATH}`, ...environment } }).stdout,
  ).bytes();

test.each([
  ["quotes and bytes", `{"name":"it's \\n \xff\xc3\xa9"}`],
  ["a long text", `{"name":"${"x".repeat(1_000_000)}%\\u0000"}`],
  ["deep nesting", `${'{"a":'.repeat(20_000)}1`],
])("a command sends %s byte by byte", async (_, body) => {
  const [line = ""] = reproduce([transcript(post(body))], target);
  expect(line.length).toBeLessThan(500);
  const [, printed] = /^(.*) \| curl/s.exec(line) ?? [];
  const [, word] = /--data-raw (.*)$/s.exec(line) ?? [];
  const bytes = await shell(printed ?? `printf %s ${word}`);
  expect(Buffer.from(bytes).equals(bytesOf(body))).toBe(true);
});

test("a short token is $TOKEN where it is a word, and not inside of words", () => {
  const [line] = reproduce([transcript(post('{"name":"t"}').replace(token, "t"))], { ...target, token: "t" });
  expect(line).toStartWith("curl -i 'http://");
  expect(line).toContain(`'Authorization: Bearer '"$TOKEN"`);
});

test("commands for bytes that curl would not send, for a race, and without secrets", async () => {
  const raw = post("{}").replace("Host: x", "Host : 50%\t\x80");
  const [line = ""] = reproduce([transcript(raw, { isRaw: true })], target);
  expect(line).toEndWith(" | curl -s -m 5 telnet://127.0.0.1:8080");
  expect(line).not.toContain("secret");
  const bytes = await shell(line.replace(/ \| curl.*/, ""), { TOKEN: token });
  expect(Buffer.from(bytes).toString("latin1")).toBe(raw);
  const race = reproduce(
    [1, 2].map(() => transcript(post("{}"), { isConcurrent: true })),
    target,
  );
  expect(race).toEqual([expect.stringMatching(/^curl .* & curl .* & wait$/)]);
});
