// The collection that the page shows: in its addresses, in its requests, and in its form.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { bodyOf, draftOf } from "../../../src/console/page/plant-draft.ts";
import {
  collection,
  collectionParameters,
  formatPlants,
  showCollection,
  useContract,
} from "../../../src/console/page/shown-contract.ts";
import { pageContract } from "../../../src/console/page-contract.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { plantStore } from "../../support/contracts.ts";

const text = await Bun.file(join(import.meta.dir, "../../contracts/estate.yaml")).text();
const estate = pageContract(await readContract({ text }));

test("addresses and requests name it where there are several", () => {
  useContract(estate);
  expect(collection).toMatchObject({ name: "parcels", many: "parcels", path: "/v1/parcels" });
  showCollection("special-events");
  expect(collectionParameters()).toEqual([["collection", "special-events"]]);
  expect(formatPlants(2)).toBe("2 special events");
  showCollection("gone");
  expect(collection.name).toBe("parcels");
});

test("a contract with one has neither, and one with none has words", () => {
  useContract(pageContract(plantStore));
  expect([collection.name, collectionParameters()]).toEqual(["plants", []]);
  useContract({ service: "Nothing", collections: [] });
  expect([formatPlants(2), collectionParameters()]).toEqual(["2 resources", []]);
});

test("the body of a form leaves out an id that the server makes", () => {
  useContract(estate);
  showCollection("special-events");
  expect(collection.id.isMade).toBe(true);
  const draft = draftOf(["Pirate workshop", "Computer room", null, null]);
  expect(bodyOf(undefined, draft)).toBe('{"eventName":"Pirate workshop","location":"Computer room"}');
});
