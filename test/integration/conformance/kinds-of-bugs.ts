// Kinds of bugs of a server. Each takes the rules that the bug breaks, and changes messages.

import { type Bug, headerValues, type Message, setHeader, setText, textOf } from "./buggy-server.ts";

export const rejection = (error: number) =>
  Response.json({ error, message: "an error" }, { status: Math.trunc(error / 100) });
export const statusOf = ({ start }: Message) => Number(start.split(" ")[1]);
export const headerOf = (message: Message, name: string) => headerValues(message, name)[0];
export const fieldOf = (message: Message, name: string): unknown => parse(textOf(message))?.[name];

export function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A bug in the text of a request. */
export function misreadText(breaks: readonly string[], read: (text: string) => string): Bug {
  return { breaks, request: (request) => setText(request, read(textOf(request))) };
}

/** A bug in the first line of a request. */
export function misreadStart(breaks: readonly string[], read: (start: string) => string): Bug {
  return {
    breaks,
    request: (request) => {
      request.start = read(request.start);
    },
  };
}

/** Requests that are rejected without the server. */
export function rejects(
  breaks: readonly string[],
  error: number,
  isRejected: (request: Message) => boolean,
): Bug {
  return { breaks, request: (request) => (isRejected(request) ? rejection(error) : undefined) };
}

/** Requests that get a status without the server. */
export function answers(
  breaks: readonly string[],
  status: number,
  isAnswered: (request: Message) => boolean,
): Bug {
  return {
    breaks,
    request: (request) => (isAnswered(request) ? new Response(null, { status }) : undefined),
  };
}

type AlterBody = (body: Record<string, unknown>, request: Message) => unknown;

/** A bug in the body of responses with the status 200, or with another one. */
export const altersPlants = (breaks: readonly string[], alter: AlterBody) => altersBody(breaks, true, alter);
export const altersErrors = (breaks: readonly string[], alter: AlterBody) => altersBody(breaks, false, alter);

function altersBody(breaks: readonly string[], isOfPlants: boolean, alter: AlterBody): Bug {
  return {
    breaks,
    response: (response, request) => {
      const body = parse(textOf(response));
      if ((statusOf(response) === 200) === isOfPlants && body !== undefined)
        setText(response, JSON.stringify(alter(body, request)));
    },
  };
}

/** A bug in the text of all responses, or of some. */
export function altersText(
  breaks: readonly string[],
  alter: (text: string) => string,
  concerns: (response: Message, request: Message) => boolean = () => true,
): Bug {
  return {
    breaks,
    response: (response, request) => {
      if (concerns(response, request)) setText(response, alter(textOf(response)));
    },
  };
}

/** Changes the status of responses that have a certain status or error. */
export function altersStatus(breaks: readonly string[], before: number, status: string): Bug {
  return {
    breaks,
    response: (response) => {
      if (statusOf(response) === before || fieldOf(response, "error") === before)
        response.start = `HTTP/1.1 ${status}`;
    },
  };
}

export function altersHeader(breaks: readonly string[], name: string, value?: string): Bug {
  return { breaks, response: (response) => setHeader(response, name, value) };
}

export function altersRequestHeader(
  breaks: readonly string[],
  name: string,
  alter: (values: readonly string[], token: string) => string | undefined,
): Bug {
  return {
    breaks,
    request: (request, { token }) =>
      setHeader(request, name, alter(headerValues(request, name.toLowerCase()), token)),
  };
}
