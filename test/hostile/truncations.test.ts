// Every beginning of a good request, and then silence: each is given up in time, and none is taken for a request.

import { expect, test } from "bun:test";
import { chunked, createBytes, fill, row } from "./hostile-request.ts";
import { Siege } from "./siege.ts";

test("every truncation of a create is cut off or 40800, and nothing of it is stored", async () => {
  await using siege = await Siege.start(["--arrival-seconds-max", "3"]);
  const { token } = siege.target;
  const whole = [createBytes(), createBytes({ framing: "Transfer-Encoding: chunked", body: chunked() })];
  const rows = whole.flatMap((bytes) => {
    const filled = fill(bytes, { id: siege.hostile.nextId(), token });
    const headBytes = filled.indexOf("\r\n\r\n") + 4;
    // RFC 9112, section 8: a chunked body is whole with its last chunk, and two line ends are behind that.
    const bodyEnd = filled.endsWith("0\r\n\r\n") ? filled.length - 2 : filled.length;
    return Array.from({ length: bodyEnd }, (_, end) =>
      row(JSON.stringify(filled.slice(0, end)), filled.slice(0, end), end < headBytes ? "bare" : "tooSlow"),
    );
  });
  // All at once: Bun cuts a head off after 12 seconds.
  expect(await siege.hostile.unexpected(rows, rows.length)).toEqual([]);
  expect(await siege.faults()).toEqual([]);
}, 120_000);
