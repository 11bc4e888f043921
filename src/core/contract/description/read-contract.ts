// Reads an OpenAPI description into the contract. Nothing in it is ignored silently: what is not
// served or not checked is one of the contract's notes, and what cannot be served is an error.

import { bearerAccess } from "../access.ts";
import type { Collection, Contract, ContractSource, OpenApiDocument } from "../contract.ts";
import { isObject } from "../json/json-values.ts";
import { decodePercent } from "../json/percent-encoding.ts";
import { Checks } from "./checks.ts";
import { findCollections } from "./collection.ts";
import { parseDescription } from "./description-text.ts";
import { commonShape } from "./error-shapes.ts";
import { readOperations, readOthers } from "./operations.ts";
import { ContractError, Place } from "./place.ts";
import { type ReadCollection, readCollection } from "./read-collection.ts";
import { noteDocument } from "./unserved-parts.ts";

/** Rejects with a ContractError that says in one sentence why the description cannot be served. */
export async function readContract(given: ContractSource): Promise<Contract> {
  try {
    return await readSource(given);
  } catch (error) {
    if (error instanceof RangeError) throw new ContractError("its parts are nested too deeply", "");
    throw error;
  }
}

async function readSource(given: ContractSource): Promise<Contract> {
  const { document, source } = await parseDescription(given);
  const version = isObject(document) ? (document.openapi ?? document.swagger) : undefined;
  // YAML has a version without quotes as a number.
  if (!isObject(document) || !/^3\.[012]\b/.test(String(document.openapi)))
    throw new ContractError(
      version === undefined
        ? 'it is not an OpenAPI description; it must have "openapi" with version 3.0, 3.1 or 3.2'
        : `it is OpenAPI ${version}; it must be version 3.0, 3.1 or 3.2`,
      "",
    );
  return await readDocument(source, { ...document, openapi: String(document.openapi) } as OpenApiDocument);
}

async function readDocument(source: ContractSource, document: OpenApiDocument): Promise<Contract> {
  const root = Place.root(document, source.origins);
  const checks = new Checks();
  const { found, faults } = await findCollections(root, checks);
  const read: ReadCollection[] = [];
  for (const described of found) {
    root.restartCount();
    try {
      const one = await readCollection(root, described, { checks, faults, fills: source.fills === true });
      const taken = read.find(({ collection }) => collection.table === one.collection.table);
      if (taken !== undefined)
        throw described.operation.place.error(
          `its table would be that of ${taken.collection.describedPath}, so that one needs another path`,
        );
      read.push(one);
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      faults.set(described.operation.place.pointer, error);
    }
  }
  // A server that makes up values responds to every operation, also without a collection.
  if (read.length === 0 && !source.fills)
    throw faults.values().next().value ?? root.at("paths").error("it has no POST whose body is the resource");
  noteDocument(root);
  const served = read.flatMap(({ parts }) => parts);
  const otherOperations = readOthers(
    root,
    served.map(({ operation }) => operation),
    faults,
  );
  const common = commonShape(served.map(({ errors }) => errors));
  const collections = read.map(({ collection, parts }) => ({
    ...collection,
    name: nameOf(
      collection,
      read.map((each) => each.collection),
    ),
    operations: readOperations(parts, common, collection),
  }));
  const title = root.at("info", "title").value;
  return {
    source,
    document,
    service: (typeof title === "string" && title.trim()) || "Store",
    basePath: basePathOf(root),
    collections,
    otherOperations,
    access: collections[0]?.operations.create.access ?? bearerAccess,
    errors: { shape: common, shapes: {}, statuses: {} },
    notes: root.notes,
  };
}

/** The last segment of a collection's path, or all of it where another one has the same. */
function nameOf({ describedPath }: Described, all: readonly Described[]): string {
  const segments = (path: string) => path.split("/").filter((segment) => segment !== "");
  const last = segments(describedPath).at(-1) ?? "";
  const isAlone = all.filter((each) => segments(each.describedPath).at(-1) === last).length === 1;
  return decodePercent(isAlone ? last : segments(describedPath).join("/"));
}

type Described = Pick<Collection, "describedPath">;

/** The path of the first server's URL; "" for none, and for a URL that has no path. */
function basePathOf(root: Place): string {
  const [server] = root.at("servers").items;
  const url = server?.at("url").value;
  if (typeof url !== "string") return "";
  const missing = new Set<string>();
  const filled = url.replaceAll(/\{([^{}]+)\}/g, (text, name) => {
    const { value } = server?.at("variables", name, "default") ?? {};
    if (value === undefined) missing.add(name);
    return String(value ?? text);
  });
  if (missing.size > 0) {
    server
      ?.at("url")
      .note(`the server ${url} is not used, as its variable ${[...missing][0]} has no default`);
    return "";
  }
  const path = URL.parse(filled, "http://localhost/")?.pathname;
  // Bun takes several slashes at the start of a request's path for one.
  if (path?.startsWith("/")) return path.replace(/^\/+/, "/").replace(/\/+$/, "");
  server?.at("url").note(`the server ${filled} is not used, as its URL has no path`);
  return "";
}
