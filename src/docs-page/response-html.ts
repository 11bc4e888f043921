// Renders the responses of an operation on the page.

import { toExactJson } from "../json/exact-json.ts";
import {
  type DescribedOperation,
  type Description,
  examplesOf,
  jsonMedia,
  referencedResponse,
} from "./description.ts";
import { inline, markdown } from "./markdown.ts";
import { describeType } from "./schema-html.ts";

const { escapeHTML } = Bun;

/** @param prefix makes the ids of the elements unique in the page. */
export function renderResponses(
  { responses }: DescribedOperation,
  prefix: string,
  components: Description["components"],
): string {
  return Object.entries(responses)
    .map(([status, response]) => {
      const { description: text = "", content } = referencedResponse(components, response);
      const [summary = "", ...rest] = text.split("\n\n");
      const [, media = {}] = jsonMedia(content) ?? [];
      const { schema } = media;
      const bodies = examplesOf(media).map(
        (example) => `<p class="note">${escapeHTML(example.summary ?? "")}</p>
            <pre><code>${escapeHTML(toExactJson(example.value, 2))}</code></pre>`,
      );
      const type =
        schema === undefined || bodies.length > 0
          ? ""
          : `<p class="note">Body: <code>${escapeHTML(describeType(schema))}</code></p>`;
      return `<details id="${escapeHTML(`${prefix}status-${status}`)}">
            <summary><span class="status ${classOf(status)}">${escapeHTML(status)}</span> <span>${inline(summary)}</span></summary>
            ${markdown(rest.join("\n\n"))}${type}${bodies.join("")}
          </details>`;
    })
    .join("");
}

/** "ok", "client-error" or "server-error". */
function classOf(status: string): string {
  if (status.startsWith("2")) return "ok";
  return status.startsWith("5") ? "server-error" : "client-error";
}
