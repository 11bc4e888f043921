// PUT and PATCH of one plant, such as {base}/plants/{id}: a replacement, and a merge patch (RFC
// 7396).

import type { Contract, EditOperation, Plant } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { parseExactJson } from "../core/contract/json/exact-json.ts";
import { bodyJson, responseJson } from "../core/contract/plant.ts";
import { withArticle } from "../core/contract/words.ts";
import type { Operation } from "../core/http/operation.ts";
import type { OperationDocument } from "../core/http/operation-document.ts";
import { defineOperation, type Reply } from "./define-operation.ts";
import { mergePlant, parseEdit, replacePlant } from "./edit-bodies.ts";
import { type Edited, editOne } from "./edit-one.ts";
import { entityTagHeader, noSuchPlant } from "./get-plant.ts";
import { idInPath } from "./parameters.ts";
import type { StoredOne } from "./read-one.ts";

/** @param shape the contract's, which is there. */
export function replaceOperation(contract: Contract, shape: EditOperation): Operation {
  const { words } = contract;
  const mayCreate = shape.successes[201] !== undefined;
  return defineOperation({
    ...commonOf(contract, shape),
    method: "PUT",
    summary: `Replace ${withArticle(words.one)}`,
    description: `Replaces ${withArticle(words.one)}${mayCreate ? ", or creates it" : ""}. ${durability}`,
    body: { schema: exampleBody(contract), parse: (bytes) => bytes },
    async handle({ parameters: { id }, body, ...call }) {
      const replacement = parseEdit(contract, shape.body, "replace", body, id);
      if (replacement instanceof ApiError) return replacement;
      const edited = await editOne({ ...call, id }, (stored) =>
        stored === undefined && !mayCreate
          ? noSuchPlant(contract, id)
          : replacePlant(contract, shape.body, replacement, stored, id),
      );
      return edited instanceof ApiError ? edited : replyOf(contract, shape, edited, call.url);
    },
  });
}

/** @param shape the contract's, which is there. */
export function changeOperation(contract: Contract, shape: EditOperation): Operation {
  const { words } = contract;
  return defineOperation({
    ...commonOf(contract, shape),
    method: "PATCH",
    summary: `Change ${withArticle(words.one)}`,
    description: `Changes properties of ${withArticle(words.one)} (RFC 7396): null removes one, and those that are not sent stay as they
are. ${durability}`,
    body: {
      types: ["application/json", mergePatchType],
      schema: exampleBody(contract),
      parse: (bytes) => bytes,
    },
    async handle({ parameters: { id }, body, checkSize, ...call }) {
      const patch = parseEdit(contract, shape.body, "change", body, id);
      if (patch instanceof ApiError) return patch;
      const merge = (stored: Plant | undefined) => {
        if (stored === undefined) return noSuchPlant(contract, id);
        const merged = mergePlant(contract, shape.body, patch, stored);
        return merged instanceof ApiError ? merged : (checkSize(bodyJson(contract, merged)) ?? merged);
      };
      const edited = await editOne({ ...call, id }, merge);
      return edited instanceof ApiError ? edited : replyOf(contract, shape, edited, call.url);
    },
  });
}

/** The media type of a merge patch. */
const mergePatchType = "application/merge-patch+json";

const durability =
  "The response is sent only after the change is on stable storage. With an ETag in `If-Match` nobody else's change is overwritten.";

/** The part of the definition that PUT and PATCH share. */
function commonOf(contract: Contract, shape: EditOperation) {
  return {
    operationId: shape.operationId,
    access: shape.access,
    errors: shape.errors,
    headers: shape.headers,
    path: shape.path,
    parameters: { id: idInPath(contract) },
    isConditional: true,
    responses: responsesOf(contract, shape),
  };
}

function exampleBody(contract: Contract): object {
  const [example] = contract.examples as readonly [Plant];
  return { type: "object", example: parseExactJson(bodyJson(contract, example)) };
}

function responsesOf({ words }: Contract, { successes }: EditOperation): OperationDocument["responses"] {
  return Object.fromEntries(
    Object.entries(successes).map(([status, response]) => [
      status,
      {
        description: `${status === "201" ? `A new ${words.one}` : `The ${words.one}`}.`,
        headers: { ETag: entityTagHeader },
        ...(response !== undefined && { returns: "one" as const }),
      },
    ]),
  );
}

function replyOf(
  contract: Contract,
  { status, successes }: EditOperation,
  edited: Edited,
  url: string,
): Reply {
  const stored = edited.stored as StoredOne;
  const own = edited.isCreated ? 201 : status;
  const response = successes[own];
  return {
    status: own,
    ...(response !== undefined && {
      jsonText: responseJson(contract, response, stored.plant, { ...stored, url }),
    }),
    headers: { ETag: stored.entityTag },
  };
}
