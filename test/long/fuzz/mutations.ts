// Inputs made of others: bytes changed, cut out, put in, repeated, names and numbers exchanged,
// crossed with another input.

/** A number from 0 to below `below`. */
export type Pick = (below: number) => number;

/** The same numbers for the same seed (xorshift32). */
export function pickFrom(seed: number): Pick {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

type Mutation = (input: Buffer, pick: Pick, other: Buffer, words: readonly Buffer[]) => Buffer;

const mutations: readonly Mutation[] = [
  function flipBit(input, pick) {
    const at = pick(input.length);
    return replaced(input, at, 1, Buffer.of((input[at] ?? 0) ^ (1 << pick(8))));
  },
  function anyByte(input, pick) {
    return replaced(input, pick(input.length), 1, Buffer.of(pick(256)));
  },
  function insertByte(input, pick) {
    return replaced(input, pick(input.length + 1), 0, Buffer.of(pick(256)));
  },
  function cut(input, pick) {
    const at = pick(input.length);
    return replaced(input, at, 1 + pick(Math.min(16, input.length - at)), Buffer.of());
  },
  function insertWord(input, pick, _, words) {
    return replaced(input, pick(input.length + 1), 0, words[pick(words.length)] ?? Buffer.of());
  },
  function overwriteWithWord(input, pick, _, words) {
    const word = words[pick(words.length)] ?? Buffer.of();
    return replaced(input, pick(input.length), word.length, word);
  },
  function exchangeForWord(input, pick, _, words) {
    const isPart = (at: number) => /[\w.+-]/.test(String.fromCharCode(input[at] ?? 0));
    let start = pick(input.length);
    let end = start;
    while (start > 0 && isPart(start - 1)) start--;
    while (end < input.length && isPart(end)) end++;
    return replaced(input, start, end - start, words[pick(words.length)] ?? Buffer.of());
  },
  function repeat(input, pick) {
    const at = pick(input.length);
    const part = input.subarray(at, at + 1 + pick(32));
    return replaced(input, at, 0, Buffer.concat(Array.from({ length: 1 + pick(8) }, () => part)));
  },
  function move(input, pick) {
    const at = pick(input.length);
    const part = input.subarray(at, at + 1 + pick(32));
    return replaced(
      replaced(input, at, part.length, Buffer.of()),
      pick(input.length - part.length + 1),
      0,
      part,
    );
  },
  function cross(input, pick, other) {
    return Buffer.concat([input.subarray(0, pick(input.length + 1)), other.subarray(pick(other.length + 1))]);
  },
  function putIn(input, pick, other) {
    const from = pick(other.length + 1);
    return replaced(input, pick(input.length + 1), 0, other.subarray(from, from + 1 + pick(64)));
  },
];

/** An input near another one. */
export function mutate(
  input: Buffer,
  other: Buffer,
  words: readonly Buffer[],
  pick: Pick,
  bytesMax: number,
): Buffer {
  let mutated = input.length === 0 ? Buffer.of(pick(256)) : input;
  for (let left = 1 << pick(4); left > 0; left--) {
    const mutation = mutations[pick(mutations.length)];
    if (mutation !== undefined && mutated.length > 0) mutated = mutation(mutated, pick, other, words);
  }
  return mutated.subarray(0, bytesMax);
}

function replaced(input: Buffer, at: number, length: number, by: Uint8Array): Buffer {
  return Buffer.concat([input.subarray(0, at), by, input.subarray(at + length)]);
}
