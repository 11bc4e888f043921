// Every prefix of a valid request, followed by silence or the end of the connection: each is
// rejected, and none is accepted as a request.

import { expect, test } from "bun:test";
import { RawConnection } from "../../support/raw-connection.ts";
import { chunked, createBytes, fill, row } from "./hostile-request.ts";
import { HostileSession } from "./hostile-session.ts";

test("every truncation of a create is closed or answered with 40800, and nothing of it is stored", async () => {
  await using session = await HostileSession.start(["--arrival-seconds-max", "3"]);
  const rows = wholeCreates(session).flatMap((whole) => {
    const headBytes = whole.indexOf("\r\n\r\n") + 4;
    return truncations(whole).map((bytes) =>
      row(JSON.stringify(bytes), bytes, bytes.length < headBytes ? "bare" : "requestTimeout"),
    );
  });
  // Concurrently, as Bun closes an incomplete head only after 12 seconds.
  expect(await session.hostile.unexpected(rows, rows.length)).toEqual([]);
  expect(await session.faults()).toEqual([]);
});

test("a create whose connection ends before it is complete gets no response, and nothing of it is stored", async () => {
  await using session = await HostileSession.start();
  const all = wholeCreates(session).flatMap(truncations);
  const answers = await Promise.all(all.map((bytes) => sendAndEnd(session.target.url, bytes)));
  expect(new Set(answers)).toEqual(new Set([""]));
  expect(await session.faults()).toEqual([]);
});

function wholeCreates(session: HostileSession): string[] {
  const inChunks = createBytes({ framing: "Transfer-Encoding: chunked", body: chunked() });
  return [createBytes(), inChunks].map((bytes) =>
    fill(bytes, { id: session.hostile.nextId(), token: session.target.token }),
  );
}

/** Every proper prefix of a create. */
function truncations(whole: string): string[] {
  // RFC 9112, section 7.1: a chunked body is complete with its last chunk, which two line ends
  // follow.
  const bodyEnd = whole.endsWith("0\r\n\r\n") ? whole.length - 2 : whole.length;
  return Array.from({ length: bodyEnd }, (_, end) => whole.slice(0, end));
}

async function sendAndEnd(url: string, bytes: string): Promise<string> {
  const connection = await RawConnection.open(url);
  connection.write(bytes);
  connection.end();
  return connection.closed;
}
