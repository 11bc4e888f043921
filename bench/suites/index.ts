// All suites, in the order of the page.

import type { Suite } from "../suite.ts";
import { citusSuite } from "./citus.ts";
import { createSuite } from "./create.ts";
import { importSuite } from "./import.ts";
import { largeStoreSuite } from "./large-store.ts";
import { latencySuite } from "./latency.ts";
import { listsSuite } from "./lists.ts";
import { operationsSuite, threadsSuite } from "./operations.ts";
import { postgresSuite } from "./postgres.ts";
import { sandboxSuite } from "./sandbox.ts";
import { startSuite } from "./start.ts";

export const suites: readonly Suite[] = [
  createSuite,
  largeStoreSuite,
  latencySuite,
  postgresSuite,
  operationsSuite,
  threadsSuite,
  listsSuite,
  citusSuite,
  startSuite,
  importSuite,
  sandboxSuite,
];
