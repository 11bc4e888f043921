// Tools whose download or first build takes more than a minute: npm run test:tools has them, npm run test:system only where
// an earlier run has left them.

/** Why these are not fetched; undefined if they may be. */
export const slowToolsMissing =
  process.env.PLANTSTORE_TEST_TOOLS === "all" ? undefined : "run npm run test:tools, which fetches it";
