// Sends the requests of the documentation page as typed, and shows the responses.

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Absent where no operation needs a token. */
const token = /** @type {HTMLInputElement | null} */ (document.getElementById("token"));
const show = document.getElementById("show");

show?.addEventListener("click", () => {
  if (token === null) return;
  const isShown = token.type === "text";
  token.type = isShown ? "password" : "text";
  show.setAttribute("aria-pressed", String(!isShown));
});

for (const form of document.forms) {
  makeKeys(form);
  const send = /** @type {HTMLElement} */ (form.querySelector(".send"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (send.ariaBusy !== "true") void sendRequest(form, send);
  });
  form.querySelector("textarea")?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement} send Its button.
 */
async function sendRequest(form, send) {
  send.ariaBusy = "true";
  const startedAt = performance.now();
  const response = byId(form.dataset.response ?? "");
  const body = form.querySelector("textarea");
  try {
    const received = await fetch(targetOf(form), {
      method: form.dataset.method ?? "",
      headers: {
        ...(body === null ? {} : { "Content-Type": "application/json" }),
        ...tokenOf(form),
        ...headersOf(form),
      },
      body: body?.value ?? null,
      credentials: "omit",
      cache: "no-store",
    });
    const text = await received.text();
    if (received.ok) makeKeys(form);
    showResponse(response, received, text, Math.round(performance.now() - startedAt));
  } catch {
    showParts(
      response,
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
 * The header field of the token, unless there is none.
 *
 * @param {HTMLFormElement} form
 */
function tokenOf({ dataset: { tokenField: name = "", tokenPrefix = "" } }) {
  const text = token?.value.trim() ?? "";
  return name === "" || text === "" ? {} : { [name]: tokenPrefix + text };
}

/**
 * The header fields that are typed.
 *
 * @param {HTMLFormElement} form
 */
function headersOf(form) {
  const inputs = [
    .../** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll('[data-in="header"]')),
  ];
  return Object.fromEntries(
    inputs.filter(({ value }) => value !== "").map(({ name, value }) => [name, value]),
  );
}

/**
 * Fills in a new Idempotency-Key, so that a request that got no response is sent again with the same.
 *
 * @param {HTMLFormElement} form
 */
function makeKeys(form) {
  const inputs = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll('[data-in="header"]'));
  // Absent where the page has come over plain HTTP from another machine.
  for (const input of inputs) input.value = crypto.randomUUID?.() ?? "";
}

/**
 * The address of a request: the path with its parameters, and the query of those that are typed.
 *
 * @param {HTMLFormElement} form
 */
function targetOf(form) {
  let path = form.dataset.action ?? "";
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll("input")) {
    if (input.dataset.in === "path")
      path = path.replace(`{${input.name}}`, () => encodeURIComponent(input.value));
    else if (input.dataset.in === "query" && input.value !== "") query.set(input.name, input.value);
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/**
 * @param {HTMLElement} section
 * @param {Response} response
 * @param {string} text Its body, shown as it was received.
 * @param {number} durationMs
 */
function showResponse(section, response, text, durationMs) {
  const { status, statusText, headers } = response;
  const className = status < 300 ? "ok" : status < 500 ? "client-error" : "server-error";
  const rows = [...headers].map(([name, value]) => `${name}: ${value}\n`);
  const code = status < 300 ? undefined : /"error":(\d{5})/.exec(text)?.[1];
  showParts(
    section,
    element(
      "p",
      {},
      element("span", { className: `status ${className}` }, `${status} ${statusText}`.trim()),
      element("span", { className: "note" }, ` in ${durationMs} ms`),
    ),
    ...(text === "" ? [] : [element("pre", {}, element("code", {}, text))]),
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

/**
 * @param {HTMLElement} section
 * @param {Node[]} parts
 */
function showParts(section, ...parts) {
  section.replaceChildren(byId(`${section.id}-title`), ...parts);
  // Below the form on a narrow screen.
  section.scrollIntoView({ block: "nearest" });
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

for (const code of document.querySelectorAll(".code-samples code")) {
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
