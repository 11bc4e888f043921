// Every beginning of a good request, and then silence, or the end of the connection: each is given up, and none is
// taken for a request.

import { expect, test } from "bun:test";
import { RawConnection } from "../../support/raw-connection.ts";
import { chunked, createBytes, fill, row } from "./hostile-request.ts";
import { HostileSession } from "./hostile-session.ts";

test("every truncation of a create is cut off or 40800, and nothing of it is stored", async () => {
  await using session = await HostileSession.start(["--arrival-seconds-max", "3"]);
  const rows = wholeCreates(session).flatMap((whole) => {
    const headBytes = whole.indexOf("\r\n\r\n") + 4;
    return truncations(whole).map((bytes) =>
      row(JSON.stringify(bytes), bytes, bytes.length < headBytes ? "bare" : "requestTimeout"),
    );
  });
  // All at once: Bun cuts a head off after 12 seconds.
  expect(await session.hostile.unexpected(rows, rows.length)).toEqual([]);
  expect(await session.faults()).toEqual([]);
}, 120_000);

test("a create whose connection ends before it is whole gets no answer, and nothing of it is stored", async () => {
  await using session = await HostileSession.start();
  const all = wholeCreates(session).flatMap(truncations);
  const answers = await Promise.all(all.map((bytes) => sendAndEnd(session.target.url, bytes)));
  expect(new Set(answers)).toEqual(new Set([""]));
  expect(await session.faults()).toEqual([]);
}, 120_000);

function wholeCreates(session: HostileSession): string[] {
  const inChunks = createBytes({ framing: "Transfer-Encoding: chunked", body: chunked() });
  return [createBytes(), inChunks].map((bytes) =>
    fill(bytes, { id: session.hostile.nextId(), token: session.target.token }),
  );
}

/** Every beginning of a create that is not whole. */
function truncations(whole: string): string[] {
  // RFC 9112, section 7.1: a chunked body is whole with its last chunk, and two line ends are behind that.
  const bodyEnd = whole.endsWith("0\r\n\r\n") ? whole.length - 2 : whole.length;
  return Array.from({ length: bodyEnd }, (_, end) => whole.slice(0, end));
}

async function sendAndEnd(url: string, bytes: string): Promise<string> {
  const connection = await RawConnection.open(url);
  connection.write(bytes);
  connection.end();
  return connection.closed;
}
