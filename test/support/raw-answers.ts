// Parses raw HTTP responses.

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawAnswers {
  /** Complete responses in their order, without interim ones (RFC 9110, section 15.2). */
  readonly answers: readonly RawAnswer[];
  /** The bytes after them: an incomplete response, invalid bytes, or nothing. */
  readonly rest: string;
}

/** Reads bytes as answers. Those of a server that is asked for no HEAD, and sends no chunks. */
export function rawAnswers(received: string): RawAnswers {
  const answers: RawAnswer[] = [];
  let rest = received;
  for (;;) {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd === -1) return { answers, rest };
    const [statusLine = "", ...fields] = rest.slice(0, headEnd).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (Number.isNaN(status)) return { answers, rest };
    const headers = new Map(fields.map(fieldOf));
    const bytes = Number(headers.get("content-length") ?? 0);
    const end = headEnd + 4 + bytes;
    if (rest.length < end) return { answers, rest };
    if (status >= 200) answers.push({ status, headers, body: rest.slice(headEnd + 4, end) });
    rest = rest.slice(end);
  }
}

function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
