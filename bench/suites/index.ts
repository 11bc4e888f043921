// All suites, in the order of the page.

import type { Suite } from "../suite.ts";
import { consoleSuite } from "./console.ts";
import { createSuite } from "./create.ts";
import { largeStoreSuite } from "./large-store.ts";
import { operatingSuite } from "./operating.ts";
import { overloadSuite } from "./overload.ts";
import { postgresSuite } from "./postgres.ts";
import { transferSuite } from "./transfer.ts";

export const suites: readonly Suite[] = [
  createSuite,
  largeStoreSuite,
  postgresSuite,
  transferSuite,
  overloadSuite,
  operatingSuite,
  consoleSuite,
];
