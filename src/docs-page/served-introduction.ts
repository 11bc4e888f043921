// Writes the introduction of the served document: the author's text, with what the server adds on
// errors, retries and tokens.

import { type Access, isBasicField, tokenField } from "../contract/access.ts";
import type { Contract } from "../contract/contract.ts";
import { type ErrorPart, partsOf } from "../contract/error-format.ts";
import { withArticle } from "../contract/words.ts";
import type { Draft } from "./draft.ts";

/**
 * Writes the introduction, without what the author already has.
 *
 * @param errorName the name of the schema of errors.
 */
export function introductionOf({ contract, document }: Draft, errorName: string): string {
  const { description } = document.info ?? {};
  const own = typeof description === "string" ? description.trim() : "";
  const [lead = "", ...chapters] = own.split(/^(?=## )/m).map((text) => text.trim());
  const note = [
    `Every response that is not a success has ${withArticle(errorName)} as its body: ${describeErrorMembers(contract)}.`,
    ...describeRetries(contract),
  ].join(" ");
  const notes = own.includes(note) ? [] : [note];
  const tokens = chapters.some((each) => /^## Tokens\s*$/m.test(each))
    ? []
    : [tokensChapter(contract.access)];
  return `${[lead || `${contract.service}.`, ...notes, ...chapters, ...tokens].join("\n\n")}\n`;
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
function describeRetries({ collections }: Contract): string[] {
  const [first, ...others] = collections;
  const one = (others.length === 0 ? first?.words.one : undefined) ?? "resource";
  const takesIds = collections.some(({ id }) => id.isRequired);
  const makesIds = collections.some(({ id }) => !id.isRequired);
  const idempotent = `${makesIds ? "Where the body has the id, creates" : "Creates"} are idempotent: sending the same ${one} again
has the same response and changes nothing, so a client that lost a response can retry.`;
  const keyed = `${takesIds ? "Where the server chooses it," : "The server chooses the ids:"} sending the same ${one} again creates a second one, unless both requests have
the same \`Idempotency-Key\`, so a client that sends one can retry.`;
  return [...(takesIds ? [idempotent] : []), ...(makesIds ? [keyed] : [])];
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
