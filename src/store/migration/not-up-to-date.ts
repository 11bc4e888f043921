// Defines the error of a store that is to be created or migrated first. Each thread knows it, and not
// how stores are migrated.

import { OperatorError } from "../../base/operator-error.ts";

export class NotUpToDate extends OperatorError {}
