// PUT and PATCH of one plant, such as {base}/plants/{id}: a replacement, and a merge patch (RFC
// 7396).

import type { Collection, EditOperation, Plant } from "../core/contract/contract.ts";
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
export function replaceOperation(collection: Collection, shape: EditOperation): Operation {
  const { words } = collection;
  const mayCreate = shape.successes[201] !== undefined;
  return defineOperation({
    ...commonOf(collection, shape),
    method: "PUT",
    summary: `Replace ${withArticle(words.one)}`,
    description: `Replaces ${withArticle(words.one)}${mayCreate ? ", or creates it" : ""}. ${durability}`,
    body: { schema: exampleBody(collection), parse: (bytes) => bytes },
    async handle({ parameters: { id }, body, ...call }) {
      const replacement = parseEdit(collection, shape.body, "replace", body, id);
      if (replacement instanceof ApiError) return replacement;
      const edited = await editOne({ ...call, collection, id }, (stored) =>
        stored === undefined && !mayCreate
          ? noSuchPlant(collection, id)
          : replacePlant(collection, shape.body, replacement, stored, id),
      );
      return edited instanceof ApiError ? edited : replyOf(collection, shape, edited, call.url);
    },
  });
}

/** @param shape the contract's, which is there. */
export function changeOperation(collection: Collection, shape: EditOperation): Operation {
  const { words } = collection;
  return defineOperation({
    ...commonOf(collection, shape),
    method: "PATCH",
    summary: `Change ${withArticle(words.one)}`,
    description: `Changes properties of ${withArticle(words.one)} (RFC 7396): null removes one, and those that are not sent stay as they
are. ${durability}`,
    body: {
      types: ["application/json", mergePatchType],
      schema: exampleBody(collection),
      parse: (bytes) => bytes,
    },
    async handle({ parameters: { id }, body, checkSize, ...call }) {
      const patch = parseEdit(collection, shape.body, "change", body, id);
      if (patch instanceof ApiError) return patch;
      const merge = (stored: Plant | undefined) => {
        if (stored === undefined) return noSuchPlant(collection, id);
        const merged = mergePlant(collection, shape.body, patch, stored);
        return merged instanceof ApiError ? merged : (checkSize(bodyJson(collection, merged)) ?? merged);
      };
      const edited = await editOne({ ...call, collection, id }, merge);
      return edited instanceof ApiError ? edited : replyOf(collection, shape, edited, call.url);
    },
  });
}

/** The media type of a merge patch. */
const mergePatchType = "application/merge-patch+json";

const durability =
  "The response is sent only after the change is on stable storage. With an ETag in `If-Match` nobody else's change is overwritten.";

/** The part of the definition that PUT and PATCH share. */
function commonOf(collection: Collection, shape: EditOperation) {
  return {
    operationId: shape.operationId,
    access: shape.access,
    errors: shape.errors,
    headers: shape.headers,
    path: shape.path,
    parameters: { id: idInPath(collection) },
    isConditional: true,
    responses: responsesOf(collection, shape),
  };
}

function exampleBody(collection: Collection): object {
  const [example] = collection.examples as readonly [Plant];
  return { type: "object", example: parseExactJson(bodyJson(collection, example)) };
}

function responsesOf({ words }: Collection, { successes }: EditOperation): OperationDocument["responses"] {
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
  collection: Collection,
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
      jsonText: responseJson(collection, response, stored.plant, { ...stored, url }),
    }),
    headers: { ETag: stored.entityTag },
  };
}
