// All suites, in the order of the page.

import type { Suite } from "../suite.ts";
import { allocationsSuite } from "./allocations.ts";
import { citusSuite } from "./citus.ts";
import { consoleSuite } from "./console.ts";
import { consolePageSuite } from "./console-page.ts";
import { coresSuite } from "./cores.ts";
import { createSuite, peersSuite } from "./create.ts";
import { footprintSuite } from "./footprint.ts";
import { largeStoreSuite } from "./large-store.ts";
import { latencySuite } from "./latency.ts";
import { operatingSuite } from "./operating.ts";
import { overloadSuite } from "./overload.ts";
import { postgresSuite } from "./postgres.ts";
import { sandboxSuite } from "./sandbox.ts";
import { startSuite } from "./start.ts";
import { transferSuite } from "./transfer.ts";

export const suites: readonly Suite[] = [
  createSuite,
  largeStoreSuite,
  peersSuite,
  latencySuite,
  allocationsSuite,
  coresSuite,
  postgresSuite,
  citusSuite,
  transferSuite,
  overloadSuite,
  operatingSuite,
  consoleSuite,
  consolePageSuite,
  startSuite,
  sandboxSuite,
  footprintSuite,
];
