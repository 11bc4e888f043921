// Names of the operations and the limit of a page, which settings need. They are apart from the
// operations, which a server that only creates does not load.

/** The names that `--operations` takes besides create. */
export const operationNames = ["list", "get", "delete"] as const;

/** Limits the JSON of a page, except if the page is a single plant. */
export const pageBytesMax = 2 ** 20;
