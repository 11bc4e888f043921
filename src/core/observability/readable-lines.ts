// The lines of the log for people: `22:43:50 POST /plants 200 created 33 ms token=ci`.

import { errorRegistry, isErrorCode } from "../contract/errors.ts";
import type { RequestRecord } from "./server-event.ts";
import { type Colour, paint, printable, type TextStyle } from "./terminal.ts";

/** @param suppressed the requests before this one that have no line. */
export function formatRequest(
  request: Readonly<RequestRecord>,
  suppressed: number | undefined,
  time: Date,
  style: TextStyle,
): string {
  const { method, path, status, result, message, caller: token, startedAt, endedAt } = request;
  const outcome = isErrorCode(result) ? errorRegistry[result].error : result;
  const parts = [
    `${method} ${printable(path, style)}`,
    result === "clientAborted"
      ? paint("client aborted", "yellow", style)
      : paint(`${status} ${outcome}`, colourOf(status), style),
    formatMs(endedAt - startedAt),
    ...formatFields({ token, suppressed }, style),
  ].join(" ");
  return withTime(message === undefined ? parts : `${parts}: ${printable(message, style)}`, time, style);
}

/** A line of another event. A stack follows, indented. */
export function formatEvent(
  level: "info" | "warn" | "error",
  message: string,
  { stack, ...fields }: Readonly<Record<string, unknown>>,
  time: Date,
  style: TextStyle,
): string {
  const prefix = {
    info: "",
    warn: paint("warning: ", "yellow", style),
    error: paint("error: ", "red", style),
  };
  const line = [prefix[level] + message, ...formatFields(fields, style)].join(" ");
  const frames =
    typeof stack === "string" ? stack.split("\n").map((frame) => `  ${printable(frame, style)}`) : [];
  return [withTime(line, time, style), ...frames].join("\n");
}

function withTime(text: string, time: Date, style: TextStyle): string {
  const numbers = [time.getHours(), time.getMinutes(), time.getSeconds()];
  const clock = numbers.map((number) => String(number).padStart(2, "0")).join(":");
  return `${paint(clock, "dim", style)} ${text}`;
}

/** `name=value` for each field with a value, in quotes if it has a space or a quote. */
function formatFields(fields: Readonly<Record<string, unknown>>, style: TextStyle): string[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = printable(typeof value === "object" ? JSON.stringify(value) : String(value), style);
      return `${name}=${/^[^\s"]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`}`;
    });
}

function formatMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

function colourOf(status: number): Colour {
  if (status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}
