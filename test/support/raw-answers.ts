// Parses raw HTTP responses, with the parser of conformance.

import { ResponseParser } from "../../src/conformance/response-parser.ts";

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** A character a byte. */
  readonly body: string;
}

export interface RawAnswers {
  /** Complete responses in their order, without interim ones (RFC 9110, section 15.2). */
  readonly answers: readonly RawAnswer[];
  /** The bytes after them: an incomplete response, invalid bytes, or nothing. */
  readonly rest: string;
}

/** Parses the responses of a server that was not asked for HEAD. */
export function rawAnswers(received: string): RawAnswers {
  const parser = new ResponseParser(received.length);
  parser.push(Buffer.from(received, "latin1"));
  const answers: RawAnswer[] = [];
  for (;;) {
    const rest = received.slice(received.length - parser.restBytes);
    const response = parser.next("POST", true);
    if (response === undefined || "problem" in response) return { answers, rest };
    const { status, headers, body } = response;
    answers.push({ status, headers: new Map(headers), body: Buffer.from(body).toString("latin1") });
  }
}
