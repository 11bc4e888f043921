// Changes the bytes of a response as a forced outcome asks for.

import { STATUS_CODES } from "node:http";
import type { Outcome } from "../../packages/sandbox/src/control-types.ts";
import type { Ending, Fields } from "./request-log.ts";

/** The parts of an outcome that drop its response, or change its bytes or their pace. */
export type Fault = Pick<Outcome, "drop" | "reset" | "body" | "bytesPerSecond">;

export interface SentResponse {
  /** Null if there is no status line. */
  readonly status: number | null;
  readonly headers: Fields;
  readonly body: Buffer;
}

interface FaultyResponse {
  /** All bytes on the connection, which is closed after them. */
  readonly bytes: Buffer;
  readonly sent: SentResponse;
  readonly ended: Ending;
}

/** Bytes that are not HTTP: the start of a TLS alert. */
const garbage = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46]);

/** Changes a response with a body. The connection is closed after it. */
export function changeBody(response: SentResponse, change: Fault["body"]): FaultyResponse {
  const { status, body } = response;
  if (change === "garbage")
    return { bytes: garbage, sent: { status: null, headers: [], body: garbage }, ended: "complete" };
  const headers: Fields = [...response.headers, ["connection", "close"]];
  if (change === undefined || body.length === 0) return whole({ status, headers, body }, "complete");
  const length = String(body.length - 1);
  switch (change) {
    case "truncated":
      return whole({ status, headers, body: body.subarray(0, Math.floor(body.length / 2)) }, "truncated");
    case "wrongLength":
      return whole({ status, headers: replaceLength(headers, ["content-length", length]), body }, "complete");
    case "brokenChunk": {
      const half = body.subarray(0, Math.ceil(body.length / 2));
      const sent = {
        status,
        headers: replaceLength(headers, ["transfer-encoding", "chunked"]),
        body: half,
      };
      const size = `${half.length.toString(16)}\r\n`;
      const bytes = Buffer.concat([formatHead(sent), Buffer.from(size), half, Buffer.from("\r\nbroken\r\n")]);
      return { bytes, sent, ended: "truncated" };
    }
  }
}

function whole(sent: SentResponse, ended: Ending): FaultyResponse {
  return { bytes: Buffer.concat([formatHead(sent), sent.body]), sent, ended };
}

function replaceLength(headers: Fields, field: Fields[number]): Fields {
  return headers.map((each) => (each[0] === "content-length" ? field : each));
}

/** The head of a response with its empty line. */
export function formatHead({ status, headers }: SentResponse): Buffer {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status ?? 0] ?? ""}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
