// Every byte of a valid request replaced with others: the outcome must be that of another HTTP
// parser, another JSON parser and another validator.

import { expect, test } from "bun:test";
import { isErrorCode } from "../../../src/core/contract/errors.ts";
import { newPlantJson, toJsonPlant } from "../../../src/core/contract/plant.ts";
import { freshId } from "../../support/http.ts";
import { parseBody } from "../../support/oracle.ts";
import { rawAnswers } from "../../support/raw-connection.ts";
import { bodyOf, createBytes, fill, type Outcome } from "./hostile-request.ts";
import { HostileSession, sendsAll } from "./hostile-session.ts";
import { startNodeParser, type Understood } from "./node-parser.ts";
import { outcomesOf } from "./outcome.ts";

/** The replacements of each byte: in `npm run hostile` all byte values. */
const replacements: readonly ((byte: number) => number)[] = sendsAll
  ? Array.from({ length: 256 }, (_, value) => () => value)
  : [(byte) => byte ^ 0x01, (byte) => byte ^ 0x20, (byte) => byte | 0x80, () => 0x00, () => 0x0a];

const lineEndBytes = 2;

const framings = {
  announced: (body: string) => createBytes({ body }),
  chunked: (body: string) =>
    createBytes({
      framing: "Transfer-Encoding: chunked",
      body: `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    }),
};

test.each(Object.entries(framings))(
  "every corruption of one byte of a create, %s, has the outcome of the reference parsers",
  async (_, framed) => {
    await using parser = await startNodeParser();
    await using session = await HostileSession.start(["--arrival-seconds-max", "2"]);
    const { token } = session.target;

    const found: string[] = [];
    const checkCorruption = async (position: number, replace: (byte: number) => number) => {
      const id = freshId();
      const bytes = Buffer.from(fill(framed(bodyOf(id)), { id, token }), "latin1");
      const byte = bytes[position] ?? 0;
      if (replace(byte) === byte) return;
      bytes[position] = replace(byte);
      const corrupted = bytes.toString("latin1");
      const expected = expectedOf(await parser.understand(asNodeTakesIt(corrupted)), token);
      const received = await session.hostile.exchange(corrupted);
      if (!isRight(expected, received))
        found.push(`${JSON.stringify(corrupted)}: ${JSON.stringify(received)}, not ${Bun.inspect(expected)}`);
      else if (typeof expected === "object")
        session.hostile.acknowledged(expected.id, newPlantJson(expected));
      // After its last chunk the body is complete, and may be stored before the error is detected.
      else if (position >= bytes.length - lineEndBytes) session.load.sent.set(id, bodyOf(id));
    };

    const positions = fill(framed(bodyOf(10n ** 17n)), { id: 0n, token }).length;
    const left = Array.from({ length: positions }, (_, position) => position)
      .flatMap((position) => replacements.map((replace) => [position, replace] as const))
      .values();
    const check = async () => {
      for (const [position, replace] of left) await checkCorruption(position, replace);
    };
    await Promise.all(Array.from({ length: 64 }, check));
    expect(found).toEqual([]);
    expect(await session.faults()).toEqual([]);
  },
);

/**
 * Replaces DEL in the value of a header with a character that Node's parser accepts: Node rejects
 * DEL, Bun keeps it, and a recipient may do either (RFC 9110, section 5.5).
 */
function asNodeTakesIt(bytes: string): string {
  const headEnd = bytes.indexOf("\r\n\r\n");
  const lines = bytes.slice(0, headEnd).split("\r\n");
  const taken = lines.map((line) => {
    const valueStart = line.indexOf(":") + 1;
    return valueStart === 0
      ? line
      : line.slice(0, valueStart) + line.slice(valueStart).replaceAll("\x7f", "\xff");
  });
  return taken.join("\r\n") + bytes.slice(headEnd);
}

/** The expected outcome of a request that Node parses like this: a plant, or an error. */
function expectedOf(
  understood: Understood | undefined,
  token: string,
): ReturnType<typeof parseBody> | Outcome {
  if (understood === undefined) return undefined;
  const { method, url, authorization = "", mediaType, body } = understood;
  const bearer = /^bearer(?: +(.*))?$/i.exec(authorization);
  if (bearer === null) return "missingToken";
  if (bearer[1] !== token) return "invalidToken";
  if (new URL(url, "http://plants.example").pathname !== "/plants") return "notFound";
  if (method !== "POST") return "methodNotAllowed";
  if (mediaType?.essence !== "application/json" || (mediaType.charset ?? "utf-8") !== "utf-8")
    return "unsupportedMediaType";
  return parseBody(Buffer.from(body, "base64"));
}

function isRight(expected: ReturnType<typeof expectedOf>, received: string): boolean {
  const [first = "", ...later] = outcomesOf(received);
  if (later.some((outcome) => outcome !== "bare")) return false;
  if (expected === undefined) return first === "bare" || isErrorCode(first);
  if (typeof expected === "string") return first === expected || first === "bare";
  const [answer] = rawAnswers(received).answers;
  return (
    answer?.status === 200 &&
    Buffer.from(answer.body, "latin1").toString() === JSON.stringify(toJsonPlant(expected))
  );
}
