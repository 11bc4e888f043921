// Writes Prometheus' text format 0.0.4,
// https://prometheus.io/docs/instrumenting/exposition_formats/.

export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

/** A metric and its samples at one moment; without samples, if it could not be measured. */
export interface Metric {
  readonly type: "counter" | "gauge" | "histogram";
  readonly name: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** The text after the name of the metric, such as `_count` or labels, and the value. */
export type Sample = readonly [suffix: string, value: number];

export function counter(name: string, help: string, samples: number | readonly Sample[]): Metric {
  return { type: "counter", name, help, samples: toSamples(samples) };
}

/** A gauge that is undefined has no sample. */
export function gauge(name: string, help: string, samples: number | undefined | readonly Sample[]): Metric {
  return { type: "gauge", name, help, samples: samples === undefined ? [] : toSamples(samples) };
}

/** The labels of a sample, as its suffix: "" for none. */
export function labels(values: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

export function renderMetrics(metrics: readonly Metric[]): string {
  const texts = metrics.map(({ type, name, help, samples }) => {
    const lines = samples.map(([suffix, value]) => `${name}${suffix} ${value}\n`);
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
  });
  return texts.join("\n");
}

function toSamples(samples: number | readonly Sample[]): readonly Sample[] {
  return typeof samples === "number" ? [["", samples]] : samples;
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
