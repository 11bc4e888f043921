// Writes the introduction of the served document: the author's text, with paragraphs and chapters
// of the server.

import { type ErrorCode, errorRegistry, statusOf } from "../base/errors.ts";
import { type Access, isBasicField, tokenField } from "../contract/access.ts";
import { type Contract, requiresMatch } from "../contract/contract.ts";
import { type ErrorPart, partsOf, pathOfPart } from "../contract/error-format.ts";
import { withArticle } from "../contract/words.ts";
import { firstLineOf } from "./description.ts";
import type { Draft } from "./draft.ts";

/**
 * Writes the introduction, without the paragraphs and chapters that the author already has.
 *
 * @param errorName the name of the schema of errors.
 */
export function introductionOf(draft: Draft, errorName: string): string {
  const { description } = draft.document.info ?? {};
  const own = typeof description === "string" ? description.trim() : "";
  const [lead = "", ...chapters] = own.split(/^(?=## )/m).map((text) => text.trim());
  const note = [
    `Every response that is not a success has ${withArticle(errorName)} as its body: ${describeErrorMembers(draft.contract)}.`,
    ...describeRetries(draft.contract),
  ].join(" ");
  const titles = chapters.map(titleOf);
  const added = [tokensChapter(draft.contract.access), errorsChapter(draft)].filter(
    (chapter) => !titles.includes(titleOf(chapter)),
  );
  const notes = own.includes(note) ? [] : [note];
  return `${[lead || `${draft.contract.service}.`, ...notes, ...chapters, ...added].join("\n\n")}\n`;
}

function titleOf(chapter: string): string {
  return firstLineOf(chapter).trim();
}

const memberMeanings: Partial<Record<ErrorPart, string>> = {
  code: "is the HTTP status times 100 plus a detail",
  codeText: "is the HTTP status times 100 plus a detail",
  message: "says what was wrong and what would be right",
  status: "is the HTTP status",
  title: "says what errors of the same type have in common",
  type: "ends with the HTTP status times 100 plus a detail",
};

function describeErrorMembers({ errors: { shape } }: Contract): string {
  return partsOf(shape)
    .filter(([, part]) => part in memberMeanings)
    .map(([path, part]) => `\`${path.join(".")}\` ${memberMeanings[part]}`)
    .join(",\n");
}

/** Says what a create that is sent again does, which depends on who chooses the ids. */
function describeRetries(contract: Contract): string[] {
  const { one, takesIds, makesIds } = resourcesOf(contract);
  return [
    ...(takesIds
      ? [
          `${makesIds ? "Where the body has the id, creates" : "Creates"} are idempotent: sending the same ${one} again
has the same response and changes nothing, so a client that lost a response can retry.`,
        ]
      : []),
    ...(makesIds
      ? [
          `${takesIds ? "Where the server chooses it," : "The server chooses the ids:"} sending the same ${one} again creates a second one, unless both requests have
the same \`Idempotency-Key\`, so a client that sends one can retry.`,
        ]
      : []),
  ];
}

/** Everything that the chapters say of the resources. */
function resourcesOf({ collections }: Pick<Contract, "collections">) {
  const [first, ...others] = collections;
  const only = others.length === 0 ? first : undefined;
  return {
    /** The path of the only collection. */
    path: only?.path,
    one: only?.words.one ?? "resource",
    /** Whether there is a collection whose ids clients choose. */
    takesIds: collections.some(({ id }) => id.isRequired),
    /** Whether there is one whose ids the server makes. */
    makesIds: collections.some(({ id }) => !id.isRequired),
  };
}

function tokensChapter(access: Access): string {
  const field = tokenField(access);
  if (field === undefined) return "## Tokens\n\nNone is needed.";
  const way = isBasicField(field)
    ? `the password of any user, by \`Authorization: Basic\` (RFC 7617)`
    : `\`${field.join(": ")}<ACCESS_TOKEN>\``;
  return `## Tokens

The operator issues tokens with \`plantstore token create --name ci\`; a token is shown once. Send it as
${way}.`;
}

function errorsChapter({ contract, operations }: Draft): string {
  const { shape } = contract.errors;
  const resources = resourcesOf(contract);
  const name = (pathOfPart(shape, "code") ?? pathOfPart(shape, "codeText"))?.join(".");
  const codes = (Object.keys(errorRegistry) as ErrorCode[]).filter((code) => {
    if (code === "invalidParameter") return operations.length > 0 || resources.makesIds;
    if (code === "conflict") return resources.takesIds || resources.makesIds;
    if (code === "preconditionRequired") return contract.collections.some(requiresMatch);
    if (code === "insufficientScope")
      return [...contract.collections.flatMap((each) => Object.values(each.operations)), ...operations].some(
        ({ access }) => access?.scopes !== undefined,
      );
    if (code === "preconditionFailed") return operations.some(({ described }) => described?.isConditional);
    return code !== "notImplemented" || contract.otherOperations.length > 0;
  });
  const rows = codes
    .toSorted((one, other) => errorRegistry[one].error - errorRegistry[other].error)
    .map((code) => {
      const { error, meaning } = errorRegistry[code];
      return `| ${name === undefined ? statusOf(code) : error} | ${meaning} | ${adviceFor(code, resources)} |`;
    });
  // Folded on the page, so that the first operation is on the first screen.
  return `## Errors

<details><summary>What to do about each error</summary>

| ${name ?? "status"} | Meaning | What to do |
| --- | --- | --- |
${rows.join("\n")}

Besides these the HTTP parser rejects what is not well-formed HTTP with a bare 400, 431 or 505: a status line
without a body, and the connection is closed.

</details>`;
}

/** Tells a client what to do about an error, in the words of the contract. */
function adviceFor(
  code: ErrorCode,
  { path, one, takesIds, makesIds }: ReturnType<typeof resourcesOf>,
): string {
  const conflict = [
    ...(takesIds ? [`Choose another id. The stored ${one} is unchanged.`] : []),
    ...(makesIds
      ? [
          `${takesIds ? "With an `Idempotency-Key`, compare" : "Compare"}: the ${one} may have been changed since. A new key would create a second one.`,
        ]
      : []),
  ];
  const advice: Partial<Record<ErrorCode, string>> = {
    conflict: conflict.join(" "),
    ...(path !== undefined && {
      notFound: `Send \`POST\` to \`${path}\`, under the address of this server.`,
    }),
    preconditionFailed: `Get the ${one} again, and decide by what it is now.`,
    preconditionRequired: `Get the ${one}, and send its ETag as If-Match.`,
    contentTooLarge: `Send a smaller ${one}.`,
    unavailable: `Wait for as many seconds as \`Retry-After\` says, and send it again.${makesIds ? ` Without \`Retry-After\` the ${one} may be stored: look first.` : ""}`,
  };
  return advice[code] ?? errorRegistry[code].remedy;
}
