// What a forced outcome does to the bytes of a response.

import { contentLength, findHeadEnd, findInterimEnd } from "./message.ts";
import type { Outcome } from "./outcome.ts";
import type { ChangedResponse, WireEffect } from "./pipe.ts";

/** The effect of an outcome on the bytes of its response; undefined if they are sent as they are. */
export function wireEffect({ body, bytesPerSecond }: Outcome): WireEffect | undefined {
  if (body === undefined && bytesPerSecond === undefined) return undefined;
  return { change: body && ((response) => changeBody(response, body)), bytesPerSecond };
}

function changeBody(response: Buffer, change: NonNullable<Outcome["body"]>): ChangedResponse {
  const headStart = findInterimEnd(response);
  const bodyStart = findHeadEnd(response, headStart) ?? response.length;
  const bodyLength = response.length - bodyStart;
  if (bodyLength === 0) return { bytes: response, ended: "complete" };
  if (change === "truncated")
    return {
      bytes: response.subarray(0, bodyStart + Math.floor(bodyLength / 2)),
      end: "close",
      ended: "truncated",
    };
  const head = response.toString("latin1", 0, bodyStart).replace(contentLength, String(bodyLength - 1));
  const bytes = Buffer.concat([Buffer.from(head, "latin1"), response.subarray(bodyStart)]);
  return { bytes, end: "close", ended: "complete" };
}
