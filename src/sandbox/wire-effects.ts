// Changes the bytes of a response as a forced outcome says.

import { contentLength, findHeadEnd, findInterimEnd } from "./message.ts";
import type { Outcome } from "./outcome.ts";
import type { ChangedResponse, WireEffect } from "./pipe.ts";

/**
 * The effect of an outcome on the bytes of its response; undefined if they are sent as they are.
 */
export function wireEffect({ body, bytesPerSecond }: Outcome): WireEffect | undefined {
  if (body === undefined && bytesPerSecond === undefined) return undefined;
  return { change: body && ((response) => changeBody(response, body)), bytesPerSecond };
}

/** Bytes that are not HTTP: the start of a TLS alert. */
const garbage = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46]);

function changeBody(response: Buffer, change: NonNullable<Outcome["body"]>): ChangedResponse {
  const headStart = findInterimEnd(response);
  const bodyStart = findHeadEnd(response, headStart) ?? response.length;
  if (change === "garbage")
    return {
      bytes: Buffer.concat([response.subarray(0, headStart), garbage]),
      end: "close",
      ended: "complete",
    };
  const bodyLength = response.length - bodyStart;
  if (bodyLength === 0) return { bytes: response, ended: "complete" };
  if (change === "truncated")
    return {
      bytes: response.subarray(0, bodyStart + Math.floor(bodyLength / 2)),
      end: "close",
      ended: "truncated",
    };
  const head = response.toString("latin1", 0, bodyStart);
  if (change === "brokenChunk") {
    const half = response.subarray(bodyStart, bodyStart + Math.ceil(bodyLength / 2));
    const chunked = head.replace(/(?<=\r\n)Content-Length: \d+/i, "Transfer-Encoding: chunked");
    const chunks = `${chunked}${half.length.toString(16)}\r\n${half.toString("latin1")}\r\nbroken\r\n`;
    return { bytes: Buffer.from(chunks, "latin1"), end: "close", ended: "truncated" };
  }
  const shorter = head.replace(contentLength, String(bodyLength - 1));
  const bytes = Buffer.concat([Buffer.from(shorter, "latin1"), response.subarray(bodyStart)]);
  return { bytes, end: "close", ended: "complete" };
}
