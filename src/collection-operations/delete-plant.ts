// DELETE of one plant, such as {base}/plants/{id}: safe to retry, as the create is.

import type { Contract } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { operationName, withArticle } from "../core/contract/words.ts";
import type { Operation } from "../core/http/operation.ts";
import { EditRun } from "../operations/edits.ts";
import { defineOperation } from "./define-operation.ts";
import { clientEditor, editOne } from "./edit-one.ts";
import { noSuchPlant } from "./get-plant.ts";
import { idInPath } from "./parameters.ts";

export function deleteOperation(contract: Contract): Operation {
  const {
    itemPath,
    words: { one },
    operations,
  } = contract;
  const { delete: described } = operations;
  const status = described?.status ?? 204;
  // Where the contract does not describe it, a deletion that is sent again succeeds.
  const isMissed = described?.describesMissing === true;
  return defineOperation({
    operationId: described?.operationId ?? operationName("delete", one),
    access: described?.access,
    errors: described?.errors,
    method: "DELETE",
    path: described?.path ?? itemPath,
    summary: `Delete ${withArticle(one)}`,
    description: `Deletes ${withArticle(one)}. The response is sent only when the deletion is on stable storage${
      isMissed
        ? ""
        : `, and also if there is no such
${one}, so a client that lost a response can retry`
    }. Afterwards the id is free.`,
    parameters: { id: idInPath(contract) },
    isConditional: true,
    responses: { [status]: { description: `There is no ${one} with this id any more.` } },
    async handle({ parameters: { id }, ...call }) {
      if (isMissed || call.headers.has("if-match") || call.headers.has("if-none-match")) {
        const edited = await editOne({ ...call, id }, (stored) =>
          stored === undefined && isMissed ? noSuchPlant(contract, id) : undefined,
        );
        return edited instanceof ApiError ? edited : { status };
      }
      const run = new EditRun(call.store, clientEditor(call.caller));
      await run.edit([{ id, expected: "any", replacement: undefined }]);
      return { status };
    },
  });
}
