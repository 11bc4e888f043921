// From a Response to a Plant, or to the error that it stands for.

import { PlantStoreError, PlantStoreInvalidResponseError } from "./errors.ts";
import type { Plant } from "./plant.ts";
import { retryAfterMsOf } from "./retry-after.ts";

/** What an answer says. Rejects as fetch does if the rest of it does not arrive. */
export async function readAnswer(
  response: Response,
): Promise<Plant | PlantStoreError | PlantStoreInvalidResponseError> {
  const { status, headers } = response;
  const text = await response.text();
  const answer = {
    status,
    contentType: headers.get("content-type") ?? "",
    retryAfterMs: retryAfterMsOf(headers),
  };

  const json = parse(text);
  const plant = status === 200 ? toPlant(json) : undefined;
  if (plant !== undefined) return plant;
  const refusal = status === 200 ? undefined : refusalOf(json);
  if (refusal !== undefined) return new PlantStoreError(refusal.message, { ...answer, code: refusal.code });
  return new PlantStoreInvalidResponseError(describe(answer, text), answer);
}

function toPlant(json: unknown): Plant | undefined {
  if (!isRecord(json)) return undefined;
  const { name, tag } = json;
  if (typeof name !== "string") return undefined;
  if (tag === undefined) return { name };
  return typeof tag === "string" ? { name, tag } : undefined;
}

function refusalOf(json: unknown): { code: number; message: string } | undefined {
  if (!isRecord(json)) return undefined;
  const { error: code, message } = json;
  if (typeof code !== "number" || !Number.isInteger(code) || typeof message !== "string") return undefined;
  return { code, message };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, and so neither a Plant nor an Error; as is undefined.
    return undefined;
  }
}

const shownUnitsMax = 100;

function describe({ status, contentType }: { status: number; contentType: string }, text: string): string {
  if (status === 0 || (status >= 300 && status < 400)) {
    return `The answer is a redirect (status ${status}), which is not followed with a token; correct baseUrl.`;
  }
  const expected = status === 200 ? "a Plant" : "an Error";
  const nature = contentType === "" ? "no Content-Type" : contentType;
  const start = text.length > shownUnitsMax ? `${text.slice(0, shownUnitsMax)}…` : text;
  return (
    `The answer is not the Plant Store's: status ${status} with ${nature} that is not ${expected}, ` +
    `${JSON.stringify(start)}. Check baseUrl, and any proxy in between.`
  );
}
