// The commands of a report, run by a shell.

import { expect, test } from "bun:test";
import { reproduce } from "../../../packages/conformance/src/failures/reproduce.ts";

test("a shell sends the bytes of a body", async () => {
  const target = {
    url: new URL("http://127.0.0.1:8080/v1"),
    token: "pst_secret",
    secrets: new Set<string>(),
  };
  const body = `{"name":"it's \\n \xff\xc3\xa9"}`;
  const request = { method: "POST", target: "/v1/plants", headers: {}, body: Buffer.from(body, "latin1") };
  const [line = ""] = reproduce([{ request, response: undefined, isConcurrent: false }], target);
  const [, word] = /--data-raw (.*)$/s.exec(line) ?? [];
  const shell = Bun.spawn(["bash", "-c", `printf %s ${word}`]);
  expect(Buffer.from(await new Response(shell.stdout).bytes()).toString("latin1")).toBe(body);
});
