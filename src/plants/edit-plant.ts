// Serves PUT and PATCH of one plant, such as {base}/plants/{id}: a replacement, and a merge patch
// (RFC 7396).

import { ApiError } from "../base/errors.ts";
import type { Collection, EditOperation, Plant } from "../contract/contract.ts";
import { bodyJson, responseJson } from "../contract/plant.ts";
import { withArticle } from "../contract/words.ts";
import type { Operation, OperationDocument } from "../http/operation.ts";
import { parseExactJson } from "../json/exact-json.ts";
import { type StoredPlant, timesOf } from "../store/shared/plant-rows.ts";
import type { Reply } from "./define-operation.ts";
import { defineOperation } from "./define-operation.ts";
import { type EditKind, editedPlant, parseEdit } from "./edit-bodies.ts";
import { type Edited, editOne } from "./edit-one.ts";
import { entityTag } from "./entity-tag.ts";
import { entityTagHeader, noSuchPlant } from "./get-plant.ts";
import { idInPath } from "./parameters.ts";

/** The media type of a merge patch. */
const mergePatchType = "application/merge-patch+json";

const durability =
  "The response is sent only after the change is on stable storage. With an ETag in `If-Match` nobody else's change is overwritten.";

/** A replacement or a change, which the contract describes. */
export function editOperation(collection: Collection, kind: EditKind): Operation {
  const shape = collection.operations[kind] as EditOperation;
  const isChange = kind === "change";
  const mayCreate = !isChange && shape.successes[201] !== undefined;
  const one = withArticle(collection.words.one);
  const does = isChange
    ? `Changes properties of ${one} (RFC 7396): null removes one, and those that are not sent stay as they
are.`
    : `Replaces ${one}${mayCreate ? ", or creates it" : ""}.`;
  return defineOperation({
    ...shape,
    method: isChange ? "PATCH" : "PUT",
    summary: `${isChange ? "Change" : "Replace"} ${one}`,
    description: `${does} ${durability}`,
    parameters: { id: idInPath(collection) },
    isConditional: true,
    responses: responsesOf(collection, shape),
    body: {
      types: ["application/json", ...(isChange ? [mergePatchType] : [])],
      schema: exampleBody(collection),
      parse: (bytes) => bytes,
    },
    async handle({ parameters: { id }, body, checkSize, ...call }) {
      const sent = parseEdit(collection, shape.body, kind, body, id);
      if (sent instanceof ApiError) return sent;
      const edited = await editOne({ ...call, collection, id }, (stored) => {
        if (stored === undefined && !mayCreate) return noSuchPlant(collection, id);
        const plant = editedPlant(collection, shape.body, kind, sent, stored, id);
        // A body is no larger than what may be stored, but a patch may add to what is.
        return isChange && !(plant instanceof ApiError)
          ? (checkSize(bodyJson(collection, plant)) ?? plant)
          : plant;
      });
      return edited instanceof ApiError ? edited : replyOf(collection, shape, edited, call.url);
    },
  });
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
  const stored = edited.stored as StoredPlant;
  const own = edited.isCreated ? 201 : status;
  const response = successes[own];
  return {
    status: own,
    ...(response !== undefined && {
      jsonText: responseJson(collection, response, stored, { ...timesOf(stored), url }),
    }),
    headers: { ETag: entityTag(collection, stored) },
  };
}
