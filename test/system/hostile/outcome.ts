// The outcomes of a request, as the tables name them.

import { type ErrorCode, errorRegistry } from "../../../src/core/contract/errors.ts";
import { type RawAnswer, rawAnswers } from "../../support/raw-connection.ts";
import { createdPlant, type Outcome } from "./hostile-request.ts";

/**
 * The responses on a closed connection as outcomes; one that is never allowed as its status and
 * text.
 */
export function outcomesOf(received: string): string[] {
  const { answers, rest } = rawAnswers(received);
  if (rest !== "") return [`a broken answer: ${rest.slice(0, 100)}`];
  return answers.length === 0 ? ["bare"] : answers.map(outcomeOf);
}

function outcomeOf({ status, headers, body }: RawAnswer): string {
  const known = bareOutcome(status, body) ?? servedOutcome(status, body);
  if (known !== undefined) return known;
  return errorOutcome(status, headers, body) ?? `${status} ${body.slice(0, 200)}`;
}

/** Bun rejects an unknown version with 505, and everything else with a 4xx. */
function bareOutcome(status: number, body: string): Outcome | undefined {
  return body === "" && ((status >= 400 && status < 500) || status === 505) ? "bare" : undefined;
}

function servedOutcome(status: number, body: string): Outcome | undefined {
  if (status !== 200) return undefined;
  if (body === createdPlant) return "created";
  return /^(?:\{"openapi":|<!doctype html>)/i.test(body) ? "served" : undefined;
}

function errorOutcome(status: number, headers: RawAnswer["headers"], body: string): ErrorCode | undefined {
  if (headers.get("content-type") !== "application/json") return undefined;
  const { error, message, ...others } = JSON.parse(Buffer.from(body, "latin1").toString());
  const whole = typeof message === "string" && message !== "" && Object.keys(others).length === 0;
  if (!whole || Math.trunc(error / 100) !== status) return undefined;
  const codes = Object.keys(errorRegistry) as ErrorCode[];
  return codes.find((code) => errorRegistry[code].error === error);
}
