// Holds what settings need of the operations: their names, and the limit of a page. A server that
// only creates does not load the operations themselves.

/** The names that `--operations` takes besides create. */
export const operationNames = ["list", "get", "delete"] as const;

/** Limits the JSON of a page, except if the page is a single plant. */
export const pageBytesMax = 2 ** 20;
