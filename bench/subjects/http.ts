// A subject that serves POST /plants, and checks that it does what it is compared for.

import { plantJson, post } from "../../test/support/http.ts";
import type { Subject } from "../suite.ts";

export interface HttpSubject extends Subject {
  /** The base address, without /plants. */
  readonly url: string;
  readonly token: string;
  /** The path of a collection whose ids the server chooses; undefined where creates send them. */
  readonly collection?: string | undefined;
}

/** How long a server may take from its start to its first answer. */
const startMsMax = 30_000;

/** The response to the create of this id by every load. */
export function toPlant(id: number): { name: string; tag: string } {
  return { name: `Monstera deliciosa ${id}`, tag: "tropical" };
}

/** Creates a plant. Throws if it is not answered as the contract says. */
export async function createPlant(subject: HttpSubject, id: number): Promise<void> {
  const { name, tag } = toPlant(id);
  if (subject.collection !== undefined) {
    const { ok, status } = await requestOf(subject, "", "POST", { name, tag });
    if (!ok) throw new Error(`${subject.name} answered a create with ${status}`);
    return;
  }
  const { status, text, json } = await post(subject, plantJson(BigInt(id), name, tag));
  if (status !== 200 || !Bun.deepEquals(json, { name, tag }))
    throw new Error(`${subject.name} answered a create with ${status} ${text}`);
}

/** Sends a request to a collection, or below it. */
export function requestOf(
  { url, collection, token }: HttpSubject,
  path: string,
  method = "GET",
  body?: object,
): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return fetch(url + collection + path, { method, headers, ...sent });
}

/** Waits until a server answers, and creates a plant. */
export async function untilCreates(subject: HttpSubject, id: number, pollMs = 50): Promise<void> {
  for (const end = performance.now() + startMsMax; ; await Bun.sleep(pollMs)) {
    try {
      return await createPlant(subject, id);
    } catch (error) {
      // Only a listener that is not up yet is worth another try.
      const isRefused = ["ECONNREFUSED", "ConnectionRefused"].includes(
        String((error as { code?: string }).code),
      );
      if (!isRefused || performance.now() > end) throw error;
    }
  }
}

/**
 * Throws unless a subject rejects a wrong token, a plant without a name, and another plant with a
 * stored id: comparisons are made with all checks on.
 */
export async function assertChecks(subject: HttpSubject, takenId: number): Promise<void> {
  const { token, name } = subject;
  if (subject.collection !== undefined) {
    const { status } = await requestOf({ ...subject, token: `${token}x` }, "", "POST", toPlant(1));
    if (status !== 401) throw new Error(`${name} answered ${status} to a wrong token`);
    return;
  }
  const attempts = [
    { right: [401], target: { ...subject, token: `${token}x` }, body: plantJson(1n, "Monstera deliciosa") },
    // FastAPI and others say 422 where the contract says 400, and 409 for a taken id.
    { right: [400, 422], target: subject, body: '{"id":1,"tag":"tropical"}' },
    { right: [400, 409], target: subject, body: plantJson(BigInt(takenId), "Monstera adansonii") },
  ];
  for (const { right, target, body } of attempts) {
    const { status } = await post(target, body);
    if (!right.includes(status))
      throw new Error(`${name} answered ${status} where ${right.join(" or ")} is right`);
  }
}
