// DELETE {base}/plants/{id}: safe to retry, as the create is.

import { EditRun } from "../operations/edits.ts";
import { defineOperation } from "./define-operation.ts";
import { int64 } from "./parameters.ts";

export const deletePlant = defineOperation({
  operationId: "deletePlant",
  method: "DELETE",
  path: "/plants/{id}",
  summary: "Delete a plant",
  description: `Deletes a plant. A 204 is sent only when the deletion is on stable storage, and also if there is no such
plant, so a client that lost a response can retry. Afterwards the id is free.`,
  parameters: { id: int64("The id of the plant.") },
  responses: { 204: { description: "There is no plant with this id any more." } },
  async handle({ caller, parameters: { id }, store }) {
    const run = new EditRun(store, { by: "client", token: caller.name });
    await run.edit([{ id, expected: "any", replacement: undefined }]);
    return { status: 204 };
  },
});
