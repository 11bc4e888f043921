// The lines of the log for people: `22:43:50 POST /plants 200 created 33 ms token=ci`.

import { type Colour, paint, printable, type TextStyle } from "./terminal.ts";

export interface ReadableRequest {
  readonly method: string;
  readonly path: string;
  /** Undefined where no response was sent. */
  readonly status: number | undefined;
  /** The result in words, or the number of the error. */
  readonly result: string | number;
  /** Present for an error. */
  readonly message?: string | undefined;
  readonly ms: number;
  readonly token: string | undefined;
  /** The requests before it that have no line. */
  readonly suppressed: number | undefined;
}

/** The line of a request; the message of an error is at its end. */
export function formatRequest(request: ReadableRequest, time: Date, style: TextStyle): string {
  const { method, path, status, result, message, ms, token, suppressed } = request;
  const parts = [
    `${method} ${printable(path, style)}`,
    paint(status === undefined ? `${result}` : `${status} ${result}`, colourOf(status), style),
    formatMs(ms),
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

function colourOf(status = 499): Colour {
  if (status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}
