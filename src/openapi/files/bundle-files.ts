// Makes one description of several files: what a reference leads to in another file becomes a
// component, or takes the place of the reference where there are no components of its kind. Only files
// in the folder of the description and below it are read.

import { realpathSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, extname, isAbsolute, relative, resolve, sep } from "node:path";
import type { ContractSource } from "../../contract/contract.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { pointerTo, referencedMembers } from "../../json/json-pointer.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { decodePercent } from "../../json/percent-encoding.ts";
import { codeUnitsMax, parseDescription } from "../document/description-text.ts";
import { ContractError, contractErrorOf, isReference, memberOf, type Reference } from "../document/place.ts";

/**
 * Bundles a description. A reference that leads to nothing in the folder stays as it is. Rejects
 * with a ContractError for a file that is neither JSON nor YAML.
 */
export async function bundleFiles(path: string, source: ContractSource): Promise<ContractSource> {
  try {
    const { document } = await parseDescription(source);
    // The reader says what it is.
    if (!isObject(document)) return source;
    const bundle = new Bundle(await ReferencedFiles.read(path, document), document);
    const { origins, isOther } = bundle;
    return isOther ? { ...source, text: toExactJson(bundle.document, 2), origins } : source;
  } catch (error) {
    if (error instanceof RangeError) throw new ContractError("its parts are nested too deeply", "");
    throw error;
  }
}

/** The kinds of components whose users have them in a member of the same name. */
const kinds = ["responses", "parameters", "examples", "headers", "securitySchemes", "links", "callbacks"];

/** The kind of component at a place; undefined for others, such as paths. */
function kindAt(names: readonly string[]): string | undefined {
  // An example holds data, unless "example" is the name of a property.
  if (names.some((name, at) => name === "example" && names[at - 1] !== "properties")) return undefined;
  if (names.includes("schema") || (names[1] === "schemas" && names.length > 2)) return "schemas";
  if (names.at(-1) === "requestBody" || names.at(-2) === "requestBodies") return "requestBodies";
  return kinds.find((kind) => kind === names.at(-2));
}

/** Where a value is from. */
interface Origin extends Pick<Target, "file" | "key"> {
  /** The keys of what stands in the place of a reference around it. */
  readonly enclosing: readonly string[];
}

/** The values of a bundle, at most: parts that are no components are copied to each place. */
const valuesMax = 1_000_000;

class Bundle {
  readonly document: Json;
  /** The keys of what is from other files, by its pointer in the bundle. */
  readonly origins = new Map<string, string>();
  /** Whether a reference leads elsewhere than in the description, such as to the description by its name. */
  isOther = false;
  readonly #files: ReferencedFiles;
  /** The pointers of components, by the keys of what they are from. */
  readonly #places = new Map<string, string>();
  /** The components of each kind, also those that are still to be copied. */
  readonly #components: Record<string, Record<string, unknown>> = {};
  #values = 0;

  constructor(files: ReferencedFiles, document: Json) {
    this.#files = files;
    const { components } = document;
    for (const [kind, group] of Object.entries(isObject(components) ? components : {}))
      this.#keepNames(kind, group);
    const origin = { file: files.root, key: "", enclosing: [] };
    const { components: own, ...copy } = this.#copy(document, origin, []) as Json;
    const all: Record<string, unknown> = { ...(own as Json | undefined) };
    for (const [kind, members] of Object.entries(this.#components))
      all[kind] = { ...members, ...(all[kind] as Json | undefined) };
    this.document = Object.keys(all).length === 0 ? copy : { ...copy, components: all };
  }

  /** Lets what the description has as a component keep its name. */
  #keepNames(kind: string, group: unknown): void {
    const own = { file: this.#files.root, value: group };
    const { file, value } = (isReference(group) && this.#files.find(group.$ref, own.file)) || own;
    if (!isObject(value)) return;
    this.#components[kind] = { ...value };
    for (const [name, member] of Object.entries(value)) {
      const target = isReference(member) ? this.#files.find(member.$ref, file) : undefined;
      if (target !== undefined && !this.#places.has(target.key))
        this.#places.set(target.key, pointerTo("/components", kind, name));
    }
  }

  /** Copies a value to a place in the bundle. */
  #copy(value: unknown, from: Origin, names: readonly string[]): unknown {
    this.#values += 1;
    if (this.#values > valuesMax) throw new ContractError(`its files make more than ${valuesMax} values`, "");
    const below = (name: string) => ({ ...from, key: pointerTo(from.key, name) });
    if (Array.isArray(value))
      return value.map((item, index) => this.#copy(item, below(`${index}`), [...names, `${index}`]));
    if (!isObject(value)) return value;
    if (isReference(value)) return this.#copyReference(value, from, names);
    const isMapping = names.at(-2) === "discriminator" && names.at(-1) === "mapping";
    const members = Object.entries(value).map(([name, member]) => [
      name,
      isMapping && isMappedReference(member)
        ? this.#refer(member, from, "schemas")
        : this.#copy(member, below(name), [...names, name]),
    ]);
    return Object.fromEntries(members);
  }

  #copyReference({ $ref, ...beside }: Reference, from: Origin, names: readonly string[]): unknown {
    const others = this.#copy(beside, from, names) as Json;
    const target = this.#files.find($ref, from.file);
    const [here, kind] = [pointerTo("", ...names), kindAt(names)];
    const isHere =
      target !== undefined &&
      target.file !== this.#files.root &&
      !from.enclosing.includes(target.key) &&
      (kind === undefined || this.#places.get(target.key) === here);
    if (!isHere) {
      const own = this.#refer($ref, from, kind);
      this.isOther ||= own !== $ref;
      return { $ref: own, ...others };
    }
    this.isOther = true;
    this.origins.set(here, target.key);
    for (const name of Object.keys(beside))
      this.origins.set(pointerTo(here, name), pointerTo(from.key, name));
    const copy = this.#copy(target.value, { ...target, enclosing: [...from.enclosing, target.key] }, names);
    return isObject(copy) ? { ...copy, ...others } : copy;
  }

  /** A reference as the bundle has it. Its target becomes a component if it is one of a kind. */
  #refer(reference: string, from: Origin, kind: string | undefined): string {
    const { root } = this.#files;
    const target = this.#files.find(reference, from.file);
    if (target?.file === root) return reference.replace(/^[^#]*#?/, "#");
    if (target !== undefined && kind !== undefined)
      return `#${(this.#places.get(target.key) ?? this.#add(target, kind)).replaceAll("%", "%25")}`;
    // In the bundle it must not lead to something of another file.
    return reference.startsWith("#") && from.file !== root
      ? this.#files.nameOf(from.file) + reference
      : reference;
  }

  /** Adds a component, and returns its pointer. */
  #add(target: Target, kind: string): string {
    const last = target.names.at(-1) ?? basename(target.file, extname(target.file));
    const short = last.replaceAll(/[^\w.-]+/g, "_");
    const members = this.#components[kind] ?? {};
    this.#components[kind] = members;
    let name = short;
    for (let number = 2; Object.hasOwn(members, name); number += 1) name = `${short}-${number}`;
    const place = pointerTo("/components", kind, name);
    this.#places.set(target.key, place);
    this.origins.set(place, target.key);
    // Taken before it is copied, as it may refer to itself.
    members[name] = undefined;
    members[name] = this.#copy(target.value, { ...target, enclosing: [] }, ["components", kind, name]);
    return place;
  }
}

/** The value that a reference leads to, and its place. */
interface Target {
  readonly file: string;
  /** The names of the members that lead to it in its file. */
  readonly names: readonly string[];
  /** Its place as messages have it, such as "schemas/parcel.yaml#/properties". */
  readonly key: string;
  readonly value: unknown;
}

class ReferencedFiles {
  /** The path of the description. */
  readonly root: string;
  /** The documents in the files, by their paths; undefined for a file that is not read. */
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

  /** Finds the target of a reference in a file; undefined for one that was not read. */
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
    // Another file may be a text, such as a description in Markdown.
    if (text === undefined || !/\.(?:json|ya?ml)$/i.test(file)) return text;
    try {
      return (await parseDescription({ text })).document;
    } catch (error) {
      throw new ContractError(`${this.nameOf(file)} cannot be read: ${contractErrorOf(error).problem}`, "");
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
    if (name === "discriminator" && isObject(member) && isObject(member.mapping))
      yield* Object.values(member.mapping).filter(isMappedReference);
    yield* referencesIn(member);
  }
}

/** Whether a value of a discriminator's mapping is a reference, and not the name of a schema. */
function isMappedReference(value: unknown): value is string {
  return typeof value === "string" && /[#/.]/.test(value);
}
