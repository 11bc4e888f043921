// All suites, in the order of the page.

import type { Suite } from "../suite.ts";
import { consoleSuite } from "./console.ts";
import { createSuite } from "./create.ts";
import { operatingSuite } from "./operating.ts";
import { overloadSuite } from "./overload.ts";
import { postgresSuite } from "./postgres.ts";
import { startSuite } from "./start.ts";
import { transferSuite } from "./transfer.ts";

export const suites: readonly Suite[] = [
  createSuite,
  postgresSuite,
  transferSuite,
  overloadSuite,
  operatingSuite,
  consoleSuite,
  startSuite,
];
