// npm run fuzz -- --minutes N: looks for inputs that the readers of bodies and of Authorization get
// wrong, and keeps what leads somewhere new. With --executions N it tries so many and keeps
// nothing, as the tests do.

import { parseArgs } from "node:util";
import { readCorpus, writeCorpus, writeFinding } from "./corpus.ts";
import { Coverage, instrument } from "./coverage.ts";
import { Finding, Fuzzer } from "./fuzzer.ts";
import { pickFrom } from "./mutations.ts";
import type { FuzzTarget } from "./target.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    executions: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
  },
});

instrument(/\/src\/core\/(?:contract\/(?:plant|json-scanner|int64|utf8)|auth\/authenticator)\.ts$/);
const { target: body } = await import("./body-target.ts");
const { target: authorization } = await import("./authorization-target.ts");

for (const target of [body, authorization]) {
  await target.open();
  try {
    await fuzz(target);
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    report(`${target.name}: ${error.message}\n${Bun.inspect(error.input.toString("latin1"))}`);
    report(
      `found by execution ${error.execution}, kept as ${writeFinding(target.name, error.input)}; the seed was ${values.seed}`,
    );
    process.exitCode = 1;
  } finally {
    await target.close();
  }
}

async function fuzz(target: FuzzTarget): Promise<void> {
  const fuzzer = new Fuzzer(target, new Coverage(), pickFrom(Number(values.seed)));
  for (const input of [...target.seeds.map((text) => Buffer.from(text)), ...readCorpus(target.name)])
    fuzzer.try(input);
  const before = fuzzer.features;
  await fuzzer.search(bound(fuzzer));
  if (values.executions === undefined) writeCorpus(target.name, fuzzer.smallest());
  report(
    `${target.name}: ${fuzzer.executions} executions, ${fuzzer.features} features (${before} from what was kept), ` +
      `${fuzzer.smallest().length} inputs run through all of them; seed ${values.seed}`,
  );
}

/** Each target has half of the time, or all of the executions. */
function bound(fuzzer: Fuzzer): () => boolean {
  if (values.executions !== undefined) {
    const most = Number(values.executions);
    return () => fuzzer.executions < most;
  }
  const end = performance.now() + (Number(values.minutes) * 60_000) / 2;
  return () => performance.now() < end;
}

function report(text: string): void {
  process.stdout.write(`${text}\n`);
}
