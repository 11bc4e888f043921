// The script of the documentation page: sends the request as typed, and shows the response.

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const form = /** @type {HTMLFormElement} */ (byId("request"));
const token = /** @type {HTMLInputElement} */ (byId("token"));
const body = /** @type {HTMLTextAreaElement} */ (byId("body"));
const send = byId("send");
const show = byId("show");

show.addEventListener("click", () => {
  const isShown = token.type === "text";
  token.type = isShown ? "password" : "text";
  show.setAttribute("aria-pressed", String(!isShown));
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (send.ariaBusy !== "true") void sendRequest();
});

body.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});

async function sendRequest() {
  send.ariaBusy = "true";
  const startedAt = performance.now();
  try {
    const response = await fetch(form.dataset.action ?? "", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(token.value.trim() === "" ? {} : { Authorization: `Bearer ${token.value.trim()}` }),
      },
      body: body.value,
      credentials: "omit",
      cache: "no-store",
    });
    const text = await response.text();
    showResponse(response, text, Math.round(performance.now() - startedAt));
  } catch {
    showParts(
      element(
        "p",
        { className: "empty" },
        "There was no response. Check that the server is running and that the token has only the characters it was issued with. Sending the request again is safe.",
      ),
    );
  } finally {
    send.ariaBusy = null;
  }
}

/**
 * @param {Response} response
 * @param {string} text Its body, shown as it was received.
 * @param {number} durationMs
 */
function showResponse(response, text, durationMs) {
  const { status, statusText, headers } = response;
  const className = status < 300 ? "ok" : status < 500 ? "client-error" : "server-error";
  const rows = [...headers].map(([name, value]) => `${name}: ${value}\n`);
  const code = status < 300 ? undefined : /"error":(\d{5})/.exec(text)?.[1];
  showParts(
    element(
      "p",
      {},
      element("span", { className: `status ${className}` }, `${status} ${statusText}`.trim()),
      element("span", { className: "note" }, ` in ${durationMs} ms`),
    ),
    element("pre", {}, element("code", {}, text)),
    ...(code !== undefined && document.getElementById(`error-${code}`) !== null
      ? [element("p", {}, element("a", { href: `#error-${code}` }, `What ${code} means, and what to do`))]
      : []),
    element(
      "details",
      {},
      element("summary", {}, `${rows.length} headers`),
      element("pre", {}, element("code", {}, rows.join(""))),
    ),
  );
}

/** @param {Node[]} parts */
function showParts(...parts) {
  byId("response").replaceChildren(byId("response-title"), ...parts);
  // Below the form on a narrow screen.
  byId("response").scrollIntoView({ block: "nearest" });
}

/**
 * @param {string} name
 * @param {object} properties
 * @param {(Node | string)[]} children
 */
function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

for (const code of document.querySelectorAll("#code-samples code")) {
  const copy = element("button", { type: "button", className: "copy" }, "Copy");
  copy.addEventListener("click", async () => {
    // Absent where the page has come over plain HTTP from another machine.
    const wasCopied = await navigator.clipboard?.writeText(code.textContent ?? "").then(
      () => true,
      () => false,
    );
    if (!wasCopied) getSelection()?.selectAllChildren(code);
    copy.textContent = wasCopied ? "Copied" : "Selected";
  });
  code.closest("details")?.append(copy);
}

// A status that is linked to is opened.
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", openTarget);
openTarget();
