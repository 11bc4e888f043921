// Changes the bytes of a response as a forced outcome says.

import { contentLength, findHeadEnd, findInterimEnd } from "./message.ts";
import type { Outcome } from "./outcome.ts";
import type { Ending } from "./request-log.ts";

/** The parts of an outcome that drop its response, or change its bytes or their pace. */
export type WireEffect = Pick<Outcome, "drop" | "reset" | "body" | "bytesPerSecond">;

interface ChangedResponse {
  readonly bytes: Buffer;
  readonly ended: Ending;
  /** Whether the connection is closed after the bytes. */
  readonly closes: boolean;
}

/** Bytes that are not HTTP: the start of a TLS alert. */
const garbage = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46]);

export function changeBody(response: Buffer, change: WireEffect["body"]): ChangedResponse {
  const headStart = findInterimEnd(response);
  const bodyStart = findHeadEnd(response, headStart) ?? response.length;
  const bodyLength = response.length - bodyStart;
  if (change === "garbage") {
    const bytes = Buffer.concat([response.subarray(0, headStart), garbage]);
    return { bytes, ended: "complete", closes: true };
  }
  if (change === undefined || bodyLength === 0) return { bytes: response, ended: "complete", closes: false };
  if (change === "truncated") {
    const bytes = response.subarray(0, bodyStart + Math.floor(bodyLength / 2));
    return { bytes, ended: "truncated", closes: true };
  }
  const head = response.toString("latin1", 0, bodyStart);
  if (change === "brokenChunk") {
    const half = response.subarray(bodyStart, bodyStart + Math.ceil(bodyLength / 2));
    const chunked = head.replace(/(?<=\r\n)Content-Length: \d+/i, "Transfer-Encoding: chunked");
    const chunks = `${chunked}${half.length.toString(16)}\r\n${half.toString("latin1")}\r\nbroken\r\n`;
    return { bytes: Buffer.from(chunks, "latin1"), ended: "truncated", closes: true };
  }
  const shorter = head.replace(contentLength, String(bodyLength - 1));
  const bytes = Buffer.concat([Buffer.from(shorter, "latin1"), response.subarray(bodyStart)]);
  return { bytes, ended: "complete", closes: true };
}
