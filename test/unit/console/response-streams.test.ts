// Response streams: complete bodies, and bounded memory.

import { expect, test } from "bun:test";
import { ResponseStreams } from "../../../src/console/response-streams.ts";

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < 300; index++) yield new Uint8Array(100).fill(index);
}

test("over the bound there is no stream until another one is read to its end, or cancelled", async () => {
  const streams = new ResponseStreams(200);
  const [first, second] = [streams.stream(pieces(), 100), streams.stream(pieces(), 100)];
  expect(() => streams.stream(pieces(), 100)).toThrow("Too many");
  const bytes = await new Response(first).bytes();
  expect(bytes).toEqual(new Uint8Array(30_000).map((_, at) => Math.floor(at / 100)));
  streams.stream(pieces(), 100);
  expect(() => streams.stream(pieces(), 100)).toThrow("Too many");
  await second.cancel();
  streams.stream(pieces(), 100);
});

test("a single body may be larger than the bound", () => {
  const streams = new ResponseStreams(1_000);
  streams.stream(pieces(), 2_000);
  expect(() => streams.stream(pieces(), 1)).toThrow("Too many");
});

test("a body whose source fails is aborted, and its memory is released", async () => {
  const streams = new ResponseStreams(1);
  const failing = async function* () {
    yield new Uint8Array(1);
    throw new Error("the store is unreachable");
  };
  for (let time = 1; time <= 2; time++) {
    const reading = new Response(streams.stream(failing(), 1)).bytes();
    expect(await reading.catch(({ message }) => message)).toBe("the store is unreachable");
  }
});
