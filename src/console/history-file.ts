// The file in which the samples of the console's charts survive a restart: a line of JSON for each sample, about a megabyte.

import { appendFile, readFile, rename, stat, writeFile } from "node:fs/promises";
import {
  countedFields,
  emptySample,
  minuteMs,
  type NumberedSample,
  type RecentSamples,
  type Sample,
  type SampleLength,
  sampleMs,
  samplesMax,
} from "./recent-samples.ts";

/** Six hours of samples: then the file is written again, with minutes in place of what is older than an hour. */
const appendedLinesMax = 4_320;

/** A longer file is not of this program, and is not read. */
const fileBytesMax = 16 * 2 ** 20;

/** A sample as a line: the start in seconds since the epoch, and what is not zero. */
type Line = { readonly at: number; readonly minute?: true } & Partial<Sample>;

export class HistoryFile {
  readonly #path: string;
  readonly #samples: RecentSamples;
  readonly #onError: (error: unknown) => void;
  /** The number of the first sample that is not in the file. */
  #next: number;
  #appendedLines = 0;
  #writing: Promise<void>;

  /**
   * Reads the file in the background.
   *
   * @param now the time, by the clock of the samples.
   * @param onError called when the file cannot be read or written; the charts continue in memory.
   */
  constructor(path: string, samples: RecentSamples, now: number, onError: (error: unknown) => void) {
    this.#path = path;
    this.#samples = samples;
    const { first, samples: own } = samples.since(sampleMs, 0, now);
    this.#next = first + own.length;
    this.#onError = onError;
    this.#writing = this.#read().catch(onError);
  }

  /** Writes the samples that have ended since the last call. Without an fsync: a sample that is lost does no harm. */
  update(now: number): Promise<void> {
    return this.#write(async () => {
      const { first, samples } = this.#samples.since(sampleMs, this.#next, now);
      this.#next = first + samples.length;
      await this.#append(numbered(first, samples));
    });
  }

  /** Writes all samples, with the one that is being counted. */
  async end(now: number): Promise<void> {
    await this.update(now);
    await this.#write(() => this.#append([this.#samples.takeCurrent(now)]));
  }

  /** One after the other. Never rejects. */
  #write(write: () => Promise<void>): Promise<void> {
    this.#writing = this.#writing.then(write).catch(this.#onError);
    return this.#writing;
  }

  async #read(): Promise<void> {
    const bytes = await stat(this.#path).then(
      ({ size }) => size,
      () => 0,
    );
    if (bytes === 0 || bytes > fileBytesMax) return;
    const lines = (await readFile(this.#path, "utf8")).split("\n").flatMap((text) => parseLine(text) ?? []);
    const [minutes, fiveSeconds] = [
      lines.filter(({ minute }) => minute),
      lines.filter(({ minute }) => !minute),
    ];
    this.#samples.restore(minuteMs, toSamples(minutes, minuteMs));
    this.#samples.restore(sampleMs, toSamples(fiveSeconds, sampleMs));
    this.#appendedLines = lines.length;
  }

  async #append(samples: readonly NumberedSample[]): Promise<void> {
    if (samples.length === 0) return;
    this.#appendedLines += samples.length;
    if (this.#appendedLines > appendedLinesMax) return this.#rewrite();
    const text = samples.map(({ number, sample }) => toLine(number, sample, sampleMs)).join("");
    // Opened each time: another server on the same store may have written it again.
    await appendFile(this.#path, text, { mode: 0o600 });
  }

  /** Replaces the file: the minutes of what is older than the samples, and the samples. */
  async #rewrite(): Promise<void> {
    const { first, samples } = this.#samples.since(
      sampleMs,
      this.#next - samplesMax,
      Number.NEGATIVE_INFINITY,
    );
    const minutes = this.#samples.since(minuteMs, 0, Number.NEGATIVE_INFINITY);
    const firstMinute = Math.ceil((first * sampleMs) / minuteMs);
    const recent = numbered(first, samples).filter(
      ({ number }) => number * sampleMs >= firstMinute * minuteMs,
    );
    const older = numbered(minutes.first, minutes.samples).filter(({ number }) => number < firstMinute);
    const text = [
      ...older.map(({ number, sample }) => toLine(number, sample, minuteMs)),
      ...recent.map(({ number, sample }) => toLine(number, sample, sampleMs)),
    ].join("");
    const partial = `${this.#path}.partial`;
    await writeFile(partial, text, { mode: 0o600 });
    await rename(partial, this.#path);
    this.#appendedLines = 0;
  }
}

function numbered(first: number, samples: readonly (Sample | null)[]): NumberedSample[] {
  return samples.flatMap((sample, index) => (sample === null ? [] : { number: first + index, sample }));
}

/** The samples of lines. The last line of a number has all of its counts: a server that was restarted meanwhile adds to them. */
function toSamples(lines: readonly Line[], length: SampleLength): NumberedSample[] {
  const samples = lines.map((line): [number, Sample] => {
    const { at, minute: _, ...fields } = line;
    return [Math.floor((at * 1_000) / length), { ...emptySample, ...fields }];
  });
  return [...new Map(samples)].map(([number, sample]) => ({ number, sample }));
}

function toLine(number: number, sample: Sample, length: SampleLength): string {
  const at = (number * length) / 1_000;
  return `${JSON.stringify({ at, ...(length === minuteMs ? { minute: true } : {}), ...countedFields(sample) })}\n`;
}

/** Undefined for a line that is not complete, as a killed server leaves it, or not of a sample. */
function parseLine(text: string): Line | undefined {
  try {
    const { at, minute, errors = {}, ...counts } = JSON.parse(text);
    const numbers = [at, ...Object.values(errors), ...Object.values(counts)];
    if (!numbers.every(Number.isFinite) || !Object.keys(counts).every((name) => name in emptySample))
      return undefined;
    return { at, ...(minute === true ? { minute } : {}), errors, ...counts };
  } catch {
    return undefined;
  }
}
