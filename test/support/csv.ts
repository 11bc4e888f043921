// CSV as an export prints it, whatever optional fields a plant has beside its tag.

import { textFields } from "../../src/core/contract/plant.ts";

const furtherFields = textFields.slice(textFields.indexOf("tag") + 1);

/**
 * A line without its end, from the cells of the id, the name and the tag, and of what follows all fields. The other optional
 * fields are empty, and have their names in the header, whose first cell is "id".
 */
export function csvLine([id, name, tag, ...rest]: readonly string[], delimiter = ","): string {
  const further = id === "id" ? furtherFields : furtherFields.map(() => "");
  return [id, name, tag, ...further, ...rest].join(delimiter);
}
