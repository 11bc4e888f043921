// The targets of suites that hold on every server: one for each engine, and a sandbox.

import { afterAll, beforeAll, describe } from "bun:test";
import { documentation } from "../../../../src/docs-page/documentation.ts";
import { plantStore } from "../../../support/contracts.ts";
import { engines } from "../../../support/engines.ts";
import type { Target } from "../../../support/http.ts";
import { startInProcess } from "../../../support/in-process-server.ts";
import { RunningSandbox } from "../../../support/sandbox.ts";

/** Runs a suite once for each engine, on a server of its own, and on a sandbox. */
export function describeConformance(
  name: string,
  suite: (target: () => Target, isSandbox: boolean) => void,
): void {
  for (const engine of engines)
    describeOn(
      `${engine.name}: ${name}`,
      (target) => suite(target, false),
      async (resources) => {
        const place = resources.use(await engine.createTestStore());
        return resources.use(await startInProcess({ database: place.database, wrapHandler })).target();
      },
    );
  if (engines.some((engine) => engine.name === "sqlite"))
    describeOn(
      `sandbox: ${name}`,
      (target) => suite(target, true),
      async (resources) => resources.use(await RunningSandbox.startInProcess()),
    );
}

const wrapHandler = documentation({
  contract: plantStore,
  basePath: "",
  publicUrl: undefined,
  hasPage: true,
});

/** Runs a suite on a server that is started before it. */
function describeOn(
  name: string,
  suite: (target: () => Target) => void,
  start: (resources: AsyncDisposableStack) => Promise<Target>,
): void {
  describe(name, () => {
    const resources = new AsyncDisposableStack();
    let target: Target | undefined;
    beforeAll(async () => {
      target = await start(resources);
    });
    afterAll(() => resources.disposeAsync());
    suite(() => {
      if (target === undefined) throw new Error("The server has not started yet");
      return target;
    });
  });
}
