// Reads the files that a description refers to: with all digits of their numbers, and only those in
// the folder of the description and below it.

import { realpathSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { codeUnitsMax, parseDescription } from "../core/contract/description/description-text.ts";
import { ContractError, faultOf, isReference, memberOf } from "../core/contract/description/place.ts";
import { pointerTo, referencedMembers } from "../core/contract/json/json-pointer.ts";
import { isObject, type Json } from "../core/contract/json/json-values.ts";
import { decodePercent } from "../core/contract/json/percent-encoding.ts";

/** What a reference leads to. */
export interface Target {
  readonly file: string;
  /** The names of the members that lead to it in its file. */
  readonly names: readonly string[];
  /** Its place as messages have it, such as "schemas/parcel.yaml#/properties". */
  readonly key: string;
  readonly value: unknown;
}

export class ReferencedFiles {
  /** The path of the description. */
  readonly root: string;
  /** What each file holds, by its path; undefined for one that is not read. */
  readonly #documents: Map<string, unknown>;
  #bytes = 0;

  private constructor(root: string, document: Json) {
    this.root = root;
    this.#documents = new Map<string, unknown>([[root, document]]);
  }

  /** Rejects with a ContractError for a file that is neither JSON nor YAML. */
  static async read(path: string, document: Json): Promise<ReferencedFiles> {
    const files = new ReferencedFiles(resolve(path), document);
    const documents = files.#documents;
    // Files that are added are visited, too.
    for (const [file, held] of documents)
      for (const reference of referencesIn(held)) {
        const other = files.#fileOf(reference, file);
        if (other !== undefined && !documents.has(other)) documents.set(other, await files.#read(other));
      }
    return files;
  }

  /** What a reference in a file leads to; undefined for nothing that was read. */
  find(reference: string, from: string): Target | undefined {
    const file = this.#fileOf(reference, from);
    if (file === undefined) return undefined;
    const names = referencedMembers(reference.replace(/^[^#]*/, ""));
    const value = memberOf(this.#documents.get(file), names);
    const pointer = pointerTo("", ...names);
    const key = file === this.root ? pointer : `${this.nameOf(file)}#${pointer}`;
    return value === undefined ? undefined : { file, names, key, value };
  }

  /** The name of a file as messages have it, such as "schemas/parcel.yaml". */
  nameOf(file: string): string {
    return relative(dirname(this.root), file).replaceAll(sep, "/");
  }

  /** The path of the file that a reference leads to; undefined for a URL. */
  #fileOf(reference: string, from: string): string | undefined {
    const [name = ""] = reference.split("#", 1);
    if (name === "") return from;
    return /^[a-z][a-z\d+.-]+:/i.test(name) ? undefined : resolve(dirname(from), decodePercent(name));
  }

  async #read(file: string): Promise<unknown> {
    const text = await this.#readInside(file).catch(() => undefined);
    // Such as a description in Markdown.
    if (text === undefined || !/\.(?:json|ya?ml)$/i.test(file)) return text;
    try {
      return (await parseDescription({ text })).document;
    } catch (error) {
      throw new ContractError(`${this.nameOf(file)} cannot be read: ${faultOf(error).problem}`, "");
    }
  }

  /** Rejects for what is no file, outside of the folder, or more than a description can hold. */
  async #readInside(file: string): Promise<string | undefined> {
    // Symbolic links may lead out of the folder.
    const path = realpathSync(file);
    const inside = relative(realpathSync(dirname(this.root)), path);
    const isOutside = inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside);
    const stats = statSync(path);
    this.#bytes += stats.size;
    const isRead = !isOutside && stats.isFile() && this.#bytes <= codeUnitsMax;
    return isRead ? await readFile(path, "utf8") : undefined;
  }
}

/** The references in a value, also those of discriminators. */
function* referencesIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  if (isReference(value)) yield value.$ref;
  for (const [name, member] of Object.entries(value)) {
    if (name === "discriminator" && isObject(member)) yield* mappedReferences(member.mapping);
    yield* referencesIn(member);
  }
}

function* mappedReferences(mapping: unknown): Generator<string> {
  for (const value of Object.values(isObject(mapping) ? mapping : {}))
    if (isMappedReference(value)) yield value;
}

/** Whether a value of a discriminator's mapping is a reference, and not the name of a schema. */
export function isMappedReference(value: unknown): value is string {
  return typeof value === "string" && /[#/.]/.test(value);
}
