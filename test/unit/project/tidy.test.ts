// Rules of the source tree that a linter does not check: layers, reserved imports, headers, and vocabulary.

import { expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";

const root = new URL("../../..", import.meta.url).pathname;

/** Copies of packages: scripts/vendored.ts. */
const vendored = ["src/admin/console/page/library", "src/observability/opentelemetry.js"];
const sources = (await readFiles("src/**/*.{js,ts}")).filter(({ path }) => !isWithin(path, vendored));

/** The layers from the lowest up: a file imports from its own layer and from those below. */
const layers: readonly (readonly string[])[] = [
  ["src/client"],
  ["src/sandbox-helper"],
  [
    "src/contract",
    "src/build-info.ts",
    "src/operator-error.ts",
    "src/duration.ts",
    "src/http-field.ts",
    "src/loopback.ts",
    "src/terminal.ts",
    "src/command-name.ts",
    "src/standard-streams.ts",
  ],
  // Above the contract and below the server: it sends HTTP over sockets, and imports nothing of the server.
  ["src/conformance"],
  ["src/observability"],
  ["src/store"],
  ["src/auth", "src/transfer"],
  ["src/api", "src/admin"],
  ["src/sandbox"],
  ["src/config", "src/output.ts", "src/password-prompt.ts"],
  ["src/commands"],
  ["src/cli.ts"],
];

/** Imports and calls that are allowed in one file only, or in none, and what to use instead. */
const reserved: readonly [pattern: RegExp, only: string, instead: string][] = [
  [/"bun:sqlite"/, "src/store/sqlite/driver.ts", "import from ./driver.ts"],
  [/"bun:ffi"/, "src/api/process-sockets.ts", "use ProcessSockets"],
  [/"pg"/, "src/store/postgres/driver.ts", "import from ./driver.ts"],
  [/"pino"/, "src/observability/log.ts", "emit a ServerEvent"],
  [/"@opentelemetry\//, "src/observability/opentelemetry.d.ts", "emit a ServerEvent"],
  [/\/opentelemetry\.js"/, "src/observability/tracing.ts", "emit a ServerEvent"],
  [/"pg-copy-streams"/, "src/store/postgres/driver.ts", "import from ./driver.ts"],
  [/\bprocess\.exit\(/, "src/commands/serve.ts", "throw an OperatorError, or set process.exitCode"],
  [/\bconsole\.\w+\(/, "", "emit a ServerEvent, or use src/output.ts"],
  [/\bMath\.random\(/, "", "take randomness as an argument"],
];

/** Names and phrases that have a plainer word, and that word. */
const vocabulary: readonly [pattern: RegExp, replacement: string][] = [
  // Prose.
  [/\bwhoever\b/i, "the thing that does it: the client, the operator, the caller"],
  // "nobody" in quotes is the user of that name.
  [/(?<!["'])\bnobody\b|\bnobody\b(?!["'])/i, "the thing that does not do it: no client, no process"],
  [/\b(?:every|some|any)body\b/i, "the client, the operator, another process"],
  [/\bin force\b/i, "active, or in effect"],
  [/\bat the most\b(?! recent)/i, "at most"],
  [/\b(?:that|which|what) (?:is|are) none\b/i, "is not one, is invalid"],
  [
    /(?<!\bthere )\b(?:is|are) no (?!longer|more\b|less\b|other\b|faster|slower|better|cheaper|easier)\w/i,
    "is not a, are not",
  ],
  [/\b(?:break|breaks|broke|broken|breaking) off\b/i, "abort, interrupt"],
  [/\banew\b/i, "again"],
  [/\bhears\b/i, "receives, is called with"],
  [/\bwants\b/i, "requires, accepts, requests"],
  [/\bneed be\b/i, "if necessary"],
  [/\bwithout a word\b/i, "without a response, without a message"],
  [/\bnext to nothing\b/i, "the cost, as a figure"],
  [/\bin masses\b|\bin so long\b/i, "what is done, and its limit"],
  [/\bfaults? of the program\b/i, "internal error"],
  [/\bground floor\b|\bfloors\b/i, "layers"],

  // Words for all parts.
  [/\bjudg\w*/i, "authenticate, validate, check, assert"],
  [/\bhouse\b/i, "ServerContext, the server"],
  [/\brooms\b/, "resources"],
  [/\b(?:Public)?Exchanges?\b|\bexchange\.[a-z]\w|\bexchange: [A-Z]|, exchange\)/, "RequestRecord, record"],
  [/\b\w+Needs\b|#needs\b/, "Dependencies"],
  [/\bRefusal\b/, "AuthFailure, HttpRejection, RejectedRecord"],
  [/"fault"|\bfault\(|\.fault\b|\bobserveFault\b/, "internalError, error"],
  [/[.#]units\b|(?<!code )\bunits(?= [-+]?= |: number)|\b(?:unitsFree|waitingUnits)\b/, "codeUnits"],
  [/\bmoment(?=\)?: |\(| [-+*/<>=]{1,3} )/, "timestamp"],
  [/\b(?:readSpan|readEnd|spanMs\w*)\b/, "parseDuration, parseExpiry, durationMs"],
  [/\bobserve\(\{|\bobserve: Emit\b/, "emit"],
  [/\btell\(/, "printError, record"],
  [/\bfigure\(/, "formatNumber"],

  // contract
  [/\bContractError\b/, "ApiError"],
  [
    /\bwalkJson\b|\bJsonWalk\b|\bJsonFault\b|\bjson-text\b/,
    "scanJson, JsonScan, JsonSyntaxError, json-scanner",
  ],
  [/\bexact-integer\b|\bint64From\w+/, "int64, parseInt64, parseJsonInt64"],
  [/\bnewPlantFaults\b|\bFieldFault\b|\bexpectationOf\b/, "validateNewPlant, FieldError, expectedType"],
  [
    /\breadNewPlant\b|\bnewPlantFromTexts\b|\bNewPlantTexts\b/,
    "parseNewPlant, parseNewPlantFields, NewPlantFields",
  ],
  [/\bplantOf\b|\bsamePlant\b|\bconflictWith\b/, "toPlant, plantsEqual, conflictError"],
  [/\btextBeforeInvalidByte\b/, "validUtf8Prefix"],
  [/\bnotJson\b|\bnotNewPlant\b|\bnotStorable\b/, "invalidJson, invalidPlant, unstorableText"],
  [/\bnoCredentials\b|\bcredentialsNotAccepted\b/, "missingToken, invalidToken"],
  [
    /\bnoSuchPath\b|\bmethodNotOffered\b|\bnotJsonMediaType\b/,
    "notFound, methodNotAllowed, unsupportedMediaType",
  ],
  [/\btooSlow\b|\bbodyTooLarge\b|\boverRate\b/, "requestTimeout, contentTooLarge, tooManyRequests"],

  // api, admin
  [/\bArrivals\b|#arrivals\b|\barrivals\.ts\b/, "body timeouts, withTimeout"],
  [
    /\bGatheredChunks\b|\bgathered-chunks\b|\bnoRoom\b|\bsetAside\b|\w+SetAside\b/,
    "body buffer, memoryLimit, reserve",
  ],
  [/\bnew Turn\b|: Turn\b|\/turn\.ts\b/, "TickBudget"],
  [/\bareTooMany\b/, "isOverLimit"],
  [/\bexchangeCertificate\b|\bCertificateWatch\b/, "reloadCertificate, CertificateReloader"],
  [/\bisLast\(\)|\bisLast: \(/, "shouldClose"],
  [
    /\banswerOpenly\b|\brefuseElsewhere\b|\bwaitedForCommit\b/,
    "serveOpenApi, rejectUnknownRoute, wasCommitted",
  ],
  [/\bdescriptionPath\b|\banswerDescription\b/, "openApiPath, serveOpenApi"],
  [/\bnew Answers\b|\/answers\.ts\b/, "Responses"],
  [/\boutgoing-bodies\b|\bOutgoingBodies\b/, "ResponseStreams"],
  [/\bSharedRun\b|\bshared-work\b/, "CoalescedWork, throttling"],
  [/\bjudgeHost\b|\bjudgeSite\b|\bneedPassword\b/, "checkHost, checkSameOrigin, requiresPassword"],
  [/\bwhole-plant\b|\blist-notes\b/, "plants.js"],
  [/\bforeign\(|\bsentenceOf\b|\blookAgain\b/, "untrustedText, errorMessage, reload"],

  // auth
  [/\bKnownTokens\b|\bknown-tokens\b/, "TokenCache"],
  [
    /"(?:unverified|premature|unfit)"|\b(?:unverified|premature|unfit): /,
    "badSignature, notYetValid, claimMismatch",
  ],
  [/\bprovider-keys\b|\bprovider-discovery\b/, "jwks, oidc-discovery"],
  [/\bListedToken\b|\blisted-token\b/, "TokenSummary"],
  [/\bisCanonical\b/, "isCanonicalBase64url"],

  // store
  [/\bendOfTurn\b/, "scheduleWithSetImmediate"],
  [/\bwaitingPlants\b/, "queueLength"],
  [/\boutcomeBeside\b/, "compareWithStored"],
  [/\bserveStore\b/, "openServerStore"],
  [/\bobserved-commits\b/, "commit hook"],
  [/\bLatestCreates\b|\blatest-creates\b/, "RecentCreates"],
  [/\bPlacedPlant\b|\bplace-text\b/, "Cursor"],
  [/\bShownPlant\b|\bisCut\b|\bshownCharacters\b/, "PlantSummary, isTruncated, previewLength"],
  [/\bstretch(?:es)?\b/, "id range"],
  [/\bPlantRows\b/, "PlantQueries"],
  [/\bwithdraw\b|\brotationOutcome\b/, "revokeByHash, planRotation"],
  [
    /\bsqlite-thread\b|\breader-thread\b|\bthread-calls\b|\bthread-messages\b/,
    "worker-store, reader-worker, worker-rpc",
  ],
  [/\bCallThread\b|\bpackBatch\b/, "WorkerClient, encodeBatch"],
  [/\bforOperator\b|\bchangeInTurn\b/, "isOperatorError, immediate transaction"],
  [/\bopen-files\b|\bmisplaced\b/, "file identity, findReplaced"],
  [
    /\bcompanionsOf\b|\bplaceOf\b|\bidentityOf\b|\bsyncName\b/,
    "sidecarFiles, resolvedPath, fileId, fsyncDirectory",
  ],
  [/\bnoteFailure\b|\bnoteOf\b|\bDiskFailed\b/, "writeFailureMarker, markerPath, DiskFailureError"],
  [/\bcheckCopy\b|\bmayReplace\b/, "verifyCopy, overwrite"],
  [/\blogIsSafe\b|\bcheckpointLongLog\b/, "ensureWalSynced, checkpointIfLong"],
  [/\brewriteVersion\b/, "probeCommit"],
  [/\bVanished\b/, "ConcurrentlyDeleted"],
  [/\bselectStable\b|\bcutOff\b/, "selectDurable, destroySockets"],
  [
    /\breadPostgresAddress\b|\bplainIfNoTls\b|\bcopy-text\b/,
    "parsePostgresUrl, allowPlaintextFallback, copy-format",
  ],

  // observability
  [/\bSpectrum\b|\bTally\b|\bAllowance\b/, "histogram, PrometheusHistogram, FixedWindowLimiter"],
  [/\bleftOut\b/, "suppressed"],
  [
    /\bplantstore_(?:faults|refusals|requests_gone)_total\b/,
    "plantstore_internal_errors_total, plantstore_errors_total, plantstore_requests_aborted_total",
  ],
  [/\bReadings\b|\breadings(?:: Gauges|\.\w)/, "Gauges"],
  [/#\w+Trouble\b|\btroublePauseMs\b/, "Throttle"],
  [/\bcutShort\b/, "forcedExit"],
  [
    /\btokensUnreadable\b|\btokenUsesUnstored\b|\btracesUnsent\b/,
    "tokenReloadFailed, lastUsedWriteFailed, traceExportFailed",
  ],
  [/\bproviderKeysUnusable\b|\bcertificateRefused\b/, "jwksRefreshFailed, certificateReloadFailed"],
  [/(?:case |result: |result = |get\(|"served" \| )"gone"/, "clientAborted"],

  // config, commands
  [/\bGiven\b(?=[ <>[\]|,;)]*[={|,;)>])|\bgivenBy\b/, "RawValue, lookup"],
  [/\bconfigurationOf\b/, "effectiveConfig"],
  [
    /\bwithout-passwords\b|\/service-links\b|\bfirst-token\b/,
    "redact, kubernetes-service-links, bootstrap-token",
  ],
  [/\bbeginTraces\b|\bopenServedStore\b/, "startTracing, openStore"],
  [/\bkeepCredentials\b|\btakeCreates\b/, "createAuthenticator, createGroupCommit"],
  [/\bendAtOnce\b/, "exitImmediately"],
  [/\bsecret-line\b|\boperator-output\b/, "password-prompt, output"],

  // transfer, client
  [/\boverlong\b/, "recordTooLong"],
  [/\b\w*(?:Lines|Records)Singly\b/, "OneByOne"],
  [/\bunderWay\b/, "inFlight"],
  [/\bnew Committer\b|\bclass Committer\b|\bcsv-text\b/, "BatchImporter, csv-records"],
  [/\btryMsMax\b|\bdeadlineMs\b|\bretriesMax\b/, "attemptTimeoutMs, timeoutMs, maxRetries"],
  [/\bpauseMs(?:Max)?\b/, "backoffMs, maxBackoffMs"],
  [/\bAnswerError\b|\bmayPass\b/, "InvalidResponseError, isRetryable"],

  // bench, test
  [/\bcircumstances\b/i, "environment"],
  [/\bcontenders?\b|\bEntrants?\b|\bentrants?\b/i, "subject"],
  [/(?<!third[- ])\bparties\b|[a-z]Parties\b|\bparty-report\b/, "processGroups"],
  [/\bpeers\/|\/peers\.ts\b|\bpeer(?:Node|Token|Versions)\b|\bstartPeer\b/, "baselines"],
  [/\bgenerated-load\b/, "open-loop"],
  [
    /\baccounting\.ts\b|\backnowledged\.ts\b|\bspread\.ts\b|\bspreadOf\b/,
    "cpu-usage, durability-audit, summary, summarize",
  ],
  [/\bsieges?\b/i, "hostile session"],
  [/\bPatient\b|\bpatient\.\w/, "soak server"],
  [/\bbooks\b/i, "model"],
  [/\bTold\b/, "KnownOutcome"],
  [/#world\b|\bworld[:.] ?\w/, "environment"],
  [/\bnewPlace\b|\bsuiteWith\b|\bsteadyPort\b/, "createTestStore, describeIfInstalled, reservePort"],
];

async function readFiles(...patterns: readonly string[]): Promise<{ path: string; text: string }[]> {
  const paths = patterns.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: root })]);
  return Promise.all(
    paths
      .filter((path) => !path.includes("node_modules/"))
      .toSorted()
      .map(async (path) => ({ path, text: await Bun.file(`${root}/${path}`).text() })),
  );
}

/** Whether a path is one of the files or is below one of the folders. */
function isWithin(path: string, parents: readonly string[]): boolean {
  return parents.some((parent) => path === parent || path.startsWith(`${parent}/`));
}

function findLayer(path: string): number {
  return layers.findIndex((parents) => isWithin(path, parents));
}

function findImports(path: string, text: string): string[] {
  const specifiers = [...text.matchAll(/(?:from |import\()"(\.{1,2}\/[^"]+)"/g)].map(
    ([, specifier]) => specifier ?? "",
  );
  return specifiers
    .map((specifier) => normalize(join(dirname(path), specifier)))
    .filter((imported) => imported.startsWith("src/"));
}

test("imports point one way, from higher layers to lower ones", () => {
  const upward = sources.flatMap(({ path, text }) =>
    findImports(path, text)
      .filter((imported) => findLayer(imported) > findLayer(path) || findLayer(imported) === -1)
      .map((imported) => `${path} -> ${imported}`),
  );
  expect(upward).toEqual([]);
});

test("no engine imports another engine", () => {
  const across = sources.flatMap(({ path, text }) => {
    const engine = /^src\/store\/([^/]+)\//.exec(path)?.[1];
    return findImports(path, text)
      .filter((imported) => engine !== undefined && /^src\/store\/([^/]+)\//.exec(imported)?.[1] !== engine)
      .filter((imported) => /^src\/store\/[^/]+\//.test(imported))
      .map((imported) => `${path} -> ${imported}`);
  });
  expect(across).toEqual([]);
});

test("reserved imports and calls are in their file only", () => {
  const strays = reserved.flatMap(([pattern, only, instead]) =>
    sources
      .filter(({ path, text }) => path !== only && pattern.test(text))
      .map(({ path }) => `${path} has ${pattern.source}: ${instead}`),
  );
  expect(strays).toEqual([]);
});

test("a file has a header sentence, and no TODO", () => {
  const violations = sources
    .filter(({ path }) => !path.endsWith(".d.ts"))
    .flatMap(({ path, text }) => [
      ...(text.startsWith("// ") ? [] : [`${path}: no header sentence`]),
      ...(/\b(?:TODO|FIXME|XXX|HACK)\b/.test(text) ? [`${path}: a TODO`] : []),
    ]);
  expect(violations).toEqual([]);
});

test("names and phrases are those of the vocabulary", async () => {
  const files = await readFiles("{src,test,bench}/**/*.{js,ts}", "{src,docs}/**/*.{css,html,md}", "*.md");
  const excluded = ["CHANGELOG.md", "test/unit/project/tidy.test.ts", ...vendored];
  const hits = files
    .filter(({ path }) => !isWithin(path, excluded))
    .flatMap(({ path, text }) =>
      // The path first, so that the names of files are checked, too.
      [path, ...text.split("\n")].flatMap((line, index) =>
        vocabulary
          .filter(([pattern]) => pattern.test(line))
          .map(
            ([pattern, replacement]) =>
              `${path}:${index} "${pattern.exec(line)?.[0]}", instead: ${replacement}`,
          ),
      ),
    );
  expect(hits).toEqual([]);
});
