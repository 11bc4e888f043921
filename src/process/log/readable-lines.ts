// Writes the lines of the log for people: `22:43:50 POST /plants 200 created 33 ms token=ci`.

import { errorNumber } from "../../base/errors.ts";
import { type Colour, paint, printable } from "../../base/terminal.ts";
import type { LineFormat } from "./log-lines.ts";

export function readableFormat(colours: boolean): LineFormat {
  const withTime = (text: string, time: Date) => {
    const numbers = [time.getHours(), time.getMinutes(), time.getSeconds()];
    const clock = numbers.map((number) => String(number).padStart(2, "0")).join(":");
    return `${paint(clock, "dim", colours)} ${text}`;
  };
  const prefix = {
    info: "",
    warn: paint("warning: ", "yellow", colours),
    error: paint("error: ", "red", colours),
  };
  return {
    request({ method, path, status, result, message, caller: token, startedAt, endedAt }, suppressed, time) {
      const outcome = errorNumber(result) ?? result;
      const parts = [
        `${method} ${printable(path)}`,
        result === "clientAborted"
          ? paint("client aborted", "yellow", colours)
          : paint(`${status} ${outcome}`, colourOf(status), colours),
        formatMs(endedAt - startedAt),
        ...formatFields({ token, suppressed }),
      ].join(" ");
      return withTime(message === undefined ? parts : `${parts}: ${printable(message)}`, time);
    },
    /** A stack follows its line, indented. */
    event({ level, message, fields: { stack, ...fields } }, time) {
      const line = [prefix[level] + message, ...formatFields(fields)].join(" ");
      const frames =
        typeof stack === "string" ? stack.split("\n").map((frame) => `  ${printable(frame)}`) : [];
      return [withTime(line, time), ...frames].join("\n");
    },
  };
}

/** `name=value` for each field with a value, in quotes if it has a space or a quote. */
function formatFields(fields: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = printable(typeof value === "object" ? JSON.stringify(value) : String(value));
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
