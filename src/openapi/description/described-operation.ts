// Finds the parts of an operation in a description: its parameters, its body, and its responses.

import { type Place, readable } from "../document/place.ts";

export const methods = ["get", "put", "post", "delete", "patch", "head", "options", "trace"] as const;

/** An operation of the description. */
export interface DescribedOperation {
  readonly method: (typeof methods)[number];
  readonly path: string;
  readonly place: Place;
  /** Its own parameters, and those that all operations of its path have. */
  readonly parameters: readonly Place[];
}

/** Throws a ContractError for a path that no request can have. */
export function operationAt(
  item: Place,
  path: string,
  method: DescribedOperation["method"],
): DescribedOperation {
  const place = item.at(method);
  if (!/^\/(?!\/)/.test(path)) throw place.error("a path must begin with one /");
  if (!path.isWellFormed()) throw place.error("a path must not hold unpaired surrogates");
  return {
    method,
    path,
    place,
    get parameters() {
      return [place, item].flatMap((each) => each.at("parameters").items);
    },
  };
}

/** The operations of some paths, by default of all. One that is no path, or cannot be read, is left out. */
export function describedOperations(
  root: Place,
  paths: readonly string[] = root.at("paths").members.map(([path]) => path),
): DescribedOperation[] {
  return paths.flatMap((path) => {
    const item = root.at("paths", path);
    return isReadablePath(path, item)
      ? methods
          .filter((each) => item.at(each).value !== undefined)
          .map((each) => operationAt(item, path, each))
      : [];
  });
}

/** Whether it is a path whose item can be read: another one is noted elsewhere. */
export function isReadablePath(path: string, item: Place): boolean {
  return !path.startsWith("x-") && readable(() => item.target) !== undefined;
}

/** The media type of the JSON of a body or a response, and its place. */
export function jsonMediaOf(
  place: Place,
  accepts: (type: string) => boolean = isJsonOrProblem,
): readonly [type: string, media: Place] | undefined {
  return place.at("content").members.find(([type, media]) => accepts(type) && media.object !== undefined);
}

/** The examples of the JSON of a body or a response. */
export function mediaExamples(media: Place): unknown[] {
  const named = media.at("examples").members.map(([, example]) => example.at("value").value);
  const { example, examples } = media.at("schema").object ?? {};
  return [...named, media.at("example").value, example, ...(Array.isArray(examples) ? examples : [])];
}

export function isJson(type: string): boolean {
  return /^(?:application\/(?:json|\*)|\*\/\*)\s*(?:;|$)/i.test(type);
}

/** Whether a media type is JSON (RFC 8259), or another format written in it (RFC 6839). */
export function isJsonFormat(type: string): boolean {
  return /^[^;]*[/+]json\s*(?:;|$)/i.test(type);
}

function isJsonOrProblem(type: string): boolean {
  return isJson(type) || /^application\/problem\+json\s*(?:;|$)/i.test(type);
}

/** Whether a media type is of a range such as "text/*" (RFC 9110, section 12.5.1); parameters do not count. */
export function matchesMedia(type: string, range: string): boolean {
  const essenceOf = (text: string) => (text.split(";", 1)[0] ?? "").trim().toLowerCase();
  const [essence, wanted] = [essenceOf(type), essenceOf(range)];
  return (
    wanted === "*/*" ||
    essence === wanted ||
    (/\/\*$/.test(wanted) && essence.startsWith(wanted.slice(0, -1)))
  );
}

/** The response that an operation describes for a status, for its class, or for all others. */
export function responseAt(operation: Place, status: number): Place | undefined {
  const keys = [String(status), `${Math.trunc(status / 100)}XX`, "DEFAULT"];
  const members = operation.at("responses").members;
  const found = keys.map((key) => members.find(([each]) => each.toUpperCase() === key)?.[1]);
  return found.find((each) => each !== undefined);
}

export function isPatchBody(type: string): boolean {
  return isJson(type) || /^application\/merge-patch\+json\s*(?:;|$)/i.test(type);
}

/** A response of an operation that succeeds. */
export interface Success {
  readonly status: number;
  readonly hasContent: boolean;
  /** The response. */
  readonly place: Place;
  /** The schema of its JSON; undefined if it is not described. */
  readonly schema: Place | undefined;
}

/**
 * The first of some statuses that an operation responds with, or what is described for all successes,
 * or for all responses. An operation that describes no success at all has the first status.
 */
export function successOf(operation: DescribedOperation, statuses: readonly string[]): Success {
  const found = describedSuccess(operation, statuses);
  if (found !== undefined) return found;
  const { place } = operation;
  const responses = place.at("responses");
  const others = responses.members.filter(([status]) => /^[23]\d\d$/.test(status));
  if (others.length > 0) throw place.error(`it describes no response ${statuses.join(" or ")}`);
  const all = responses.members.find(([status]) => /^2xx$/i.test(status))?.[1];
  const general = all ?? responses.at("default");
  const isDescribed = general.value !== undefined;
  if (!isDescribed) place.note(`${titleOf(operation)} describes no success; it is ${statuses[0]}`);
  const success = successAt(isDescribed ? general : responses, String(statuses[0]));
  return isDescribed ? success : { ...success, hasContent: operation.method === "get", schema: undefined };
}

/** The first of some statuses that an operation describes. */
export function describedSuccess(
  { place }: DescribedOperation,
  statuses: readonly string[],
): Success | undefined {
  const responses = place.at("responses");
  const status = statuses.find((each) => responses.at(each).value !== undefined);
  return status === undefined ? undefined : successAt(responses.at(status), status);
}

function successAt(response: Place, status: string): Success {
  const schema = jsonMediaOf(response, isJson)?.[1].at("schema");
  return {
    status: Number(status),
    hasContent: status !== "204" && response.at("content").members.length > 0,
    place: response,
    schema: schema?.value === undefined ? undefined : schema,
  };
}

/** Whether an operation describes the header field Idempotency-Key as required. */
export function requiresKey({ parameters }: DescribedOperation): boolean {
  return parameters.some(({ object }) => {
    const isKey = object?.in === "header" && /^idempotency-key$/i.test(String(object.name));
    return isKey && object.required === true;
  });
}

/** The path of a collection, which may be described with a slash at its end. */
export function collectionPath(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** Whether a path is that of one resource of a collection, such as /pets/{petId} or /pets/{petId}/. */
export function isItemOf(collection: string, path: string): boolean {
  const start = `${collectionPath(collection)}/`;
  return path.startsWith(start) && /^\{[^/{}]+\}\/?$/.test(path.slice(start.length));
}

/** Names an operation by its method and path, such as "GET /plants". */
export function titleOf({ method, path }: DescribedOperation): string {
  return `${method.toUpperCase()} ${path}`;
}
