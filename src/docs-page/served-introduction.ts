// The description of the served document as a whole: the author's text, with paragraphs and chapters
// of the server.

import { type Access, tokenField } from "../core/contract/access.ts";
import { type Collection, type Contract, requiresMatch } from "../core/contract/contract.ts";
import { type ErrorPart, partsOf, pathOfPart } from "../core/contract/error-format.ts";
import { type ErrorCode, errorRegistry, statusOf } from "../core/contract/errors.ts";
import { withArticle } from "../core/contract/words.ts";
import { firstLineOf } from "./description.ts";
import type { Draft } from "./draft.ts";

/**
 * Writes the introduction, without the paragraphs and chapters that the author already has.
 *
 * @param errorName the name of the schema of errors.
 */
export function introductionOf(draft: Draft, errorName: string): string {
  const { one } = draft.collection.words;
  const { description } = draft.document.info;
  const own = typeof description === "string" ? description.trim() : "";
  const [lead = "", ...chapters] = own.split(/^(?=## )/m).map((text) => text.trim());
  const retries = draft.collection.id.isRequired
    ? `Creates are idempotent: sending the same ${one} again
has the same response and changes nothing, so a client that lost a response can retry.`
    : `The server chooses the ids: sending the same ${one} again creates a second one, unless both requests have
the same \`Idempotency-Key\`, so a client that sends one can retry.`;
  const notes = [
    `Every response that is not a success has ${withArticle(errorName)} as its body: ${describeErrorMembers(draft.contract)}. ${retries}`,
    `This description is served as \`openapi.json\` and \`openapi.yaml\`.`,
  ].filter((note) => !own.includes(note));
  const titles = chapters.map(titleOf);
  const added = [tokensChapter(draft.collection.operations.create.access), errorsChapter(draft)].filter(
    (chapter) => !titles.includes(titleOf(chapter)),
  );
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

function tokensChapter(access: Access): string {
  const field = tokenField(access);
  if (field === undefined) return "## Tokens\n\nNone is needed.";
  return `## Tokens

The operator issues tokens with \`plantstore token create --name ci\`; a token is shown once. Send it as
\`${field.join(": ")}<ACCESS_TOKEN>\`.`;
}

function errorsChapter({ contract, collection, operations }: Draft): string {
  const { shape } = contract.errors;
  const name = (pathOfPart(shape, "code") ?? pathOfPart(shape, "codeText"))?.join(".");
  const codes = (Object.keys(errorRegistry) as ErrorCode[]).filter((code) => {
    if (code === "invalidParameter") return operations.length > 0 || !collection.id.isRequired;
    if (code === "preconditionRequired") return requiresMatch(collection);
    if (code === "preconditionFailed") return operations.some(({ described }) => described?.isConditional);
    return code !== "notImplemented" || contract.others.length > 0;
  });
  const rows = codes
    .toSorted((one, other) => errorRegistry[one].error - errorRegistry[other].error)
    .map((code) => {
      const { error, meaning } = errorRegistry[code];
      return `| ${name === undefined ? statusOf(code) : error} | ${meaning} | ${adviceFor(code, collection)} |`;
    });
  return `## Errors

The HTTP parser rejects what is not well-formed HTTP with a bare 400, 431 or 505: a status line without a body,
and the connection is closed. Every other error is one of these:

| ${name ?? "status"} | Meaning | What to do |
| --- | --- | --- |
${rows.join("\n")}`;
}

/** Tells a client what to do about an error. */
function adviceFor(code: ErrorCode, { path, words, id }: Collection): string {
  const advice: Readonly<Record<ErrorCode, string>> = {
    badRequest: "Send the header once, or a chunked body. The connection is closed.",
    invalidJson: "Correct it at the line and column in the message.",
    invalidPlant: "Correct the fields that the message names.",
    unstorableText: "Remove it; the message has its position.",
    invalidParameter: "Correct what the message names.",
    conflict: id.isRequired
      ? `Choose another id. The stored ${words.one} is unchanged.`
      : `Compare: the ${words.one} may have been changed since. A new key would create a second one.`,
    missingToken: "Send a token.",
    invalidToken: "Ask the operator, or the identity provider, for a new token.",
    notFound: `Send \`POST\` to \`${path}\`, under the address of this server.`,
    methodNotAllowed: "Use one that `Allow` names.",
    requestTimeout: "Send it again, on a new connection.",
    preconditionFailed: `Get the ${words.one} again, and decide by what it is now.`,
    preconditionRequired: `Get the ${words.one}, and send its ETag as If-Match.`,
    contentTooLarge: `Send a smaller ${words.one}.`,
    unsupportedMediaType: "Send `Content-Type: application/json`, and the JSON as it is.",
    tooManyRequests: "Wait for as many seconds as `Retry-After` says.",
    internalError: "Send it again; if that does not help, tell the operator the `X-Request-Id`.",
    notImplemented: "Use another operation.",
    unavailable: `Wait for as many seconds as \`Retry-After\` says, and send it again.${id.isRequired ? "" : ` Without \`Retry-After\` the ${words.one} may be stored: look first.`}`,
  };
  return advice[code];
}
