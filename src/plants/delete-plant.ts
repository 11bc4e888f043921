// Serves DELETE of one plant, such as {base}/plants/{id}: safe to retry, as the create is.

import { ApiError } from "../base/errors.ts";
import type { Collection } from "../contract/contract.ts";
import { responseJson } from "../contract/plant.ts";
import { operationName, withArticle } from "../contract/words.ts";
import type { Operation } from "../http/operation.ts";
import { type StoredPlant, timesOf } from "../store/shared/plant-rows.ts";
import { defineOperation } from "./define-operation.ts";
import { clientEditor, editOne } from "./edit-one.ts";
import { EditRun } from "./edit-run.ts";
import { noSuchPlant } from "./get-plant.ts";
import { idInPath } from "./parameters.ts";
import { isConditional } from "./preconditions.ts";

export function deleteOperation(collection: Collection): Operation {
  const {
    itemPath,
    words: { one },
    operations,
  } = collection;
  const { delete: described } = operations;
  const { response, content } = described ?? {};
  const status = described?.status ?? 204;
  // Where the contract does not describe it, a deletion that is sent again succeeds.
  const isMissed = described?.describesMissing === true || response !== undefined;
  return defineOperation({
    operationId: operationName("delete", one),
    path: itemPath,
    ...described,
    method: "DELETE",
    summary: `Delete ${withArticle(one)}`,
    description: `Deletes ${withArticle(one)}. The response is sent only when the deletion is on stable storage${
      isMissed
        ? ""
        : `, and also if there is no such
${one}, so a client that lost a response can retry`
    }. Afterwards the id is free.`,
    parameters: { id: idInPath(collection) },
    isConditional: true,
    responses: {
      [status]: {
        description: `There is no ${one} with this id any more.`,
        ...((response ?? content) !== undefined && { returns: response === undefined ? {} : "one" }),
      },
    },
    async handle(call) {
      const { parameters, headers, caller, store } = call;
      const { id } = parameters;
      const reply = { status, ...(content !== undefined && { jsonText: content }) };
      if (!isConditional(headers) && !isMissed) {
        const run = new EditRun(store, clientEditor(caller));
        await run.edit(collection, [{ id, expected: "any", replacement: undefined }]);
        return reply;
      }
      let deleted: StoredPlant | undefined;
      const edited = await editOne(collection, id, call, (stored) => {
        deleted = stored;
        return stored === undefined && isMissed ? noSuchPlant(collection, id) : undefined;
      });
      if (edited instanceof ApiError) return edited;
      if (response === undefined || deleted === undefined) return reply;
      const times = timesOf(deleted);
      return { status, jsonText: responseJson(collection, response, deleted, { ...times, url: call.url }) };
    },
  });
}
