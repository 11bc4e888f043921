// Starts the page: shows the log-in form, or the console.

import type { PageContract } from "../page-contract.ts";
import { readCollection } from "./address.ts";
import { get, post } from "./api.ts";
import { Brand, Console } from "./console-sections.ts";
import { ErrorMessage } from "./dialogs.ts";
import { useCall, useTicks } from "./hooks.ts";
import { render, useLayoutEffect, useState } from "./library.js";
import { html, onSubmit, textsOf } from "./markup.ts";
import { showCollection, useContract } from "./shown-contract.ts";
import { TextField } from "./text-field.ts";

interface Session {
  /** null before the log-in. */
  contract: PageContract | null;
  requiresPassword: boolean;
  isAuthenticated: boolean;
}

function App() {
  /** null until the server has responded. */
  const [session, setSession] = useState<Session | null>(null);
  const [isReachable, setReachable] = useState(true);
  const load = async () => {
    try {
      const next = await get<Session>("session");
      if (next.contract !== null) {
        useContract(next.contract);
        showCollection(readCollection());
      }
      setSession(next);
      setReachable(true);
    } catch {
      setReachable(false);
    }
  };
  useLayoutEffect(() => void load(), []);
  useTicks(async () => {
    if (!isReachable) await load();
  });
  const askAgain = () => setSession({ requiresPassword: true, isAuthenticated: false, contract: null });
  /** Removes the sections first: they would show errors. */
  const logOut = async () => {
    setSession(null);
    await post("session-end", {}).then(askAgain, () => setReachable(false));
  };

  if (session === null)
    return html`
      <header class="top"><${Brand} name=${document.title.replace(/ console$/, "")} /></header>
      <p class="empty" role="status">${isReachable ? "" : "The server is unreachable; retrying."}</p>
    `;
  const { requiresPassword, isAuthenticated } = session;
  if (!isAuthenticated) return html`<${LogIn} onLogIn=${load} />`;
  return html`<${Console} onLogOut=${requiresPassword ? logOut : undefined} onLoggedOut=${askAgain} />`;
}

function LogIn({ onLogIn }: { onLogIn: () => Promise<void> }) {
  const { isBusy, error, call } = useCall();
  const submit = (form: HTMLFormElement) =>
    call(async () => {
      await post("session", textsOf(form)).finally(() => form.reset());
      await onLogIn();
    });
  return html`
    <main class="log-in">
      <form class="card" onSubmit=${onSubmit(submit)}>
        <h1><img src="icon.svg" alt="" width="32" height="32" /> ${document.title}</h1>
        <${TextField} label="Password" name="password" type="password" autocomplete="current-password" required autofocus />
        <${ErrorMessage} text=${error} />
        <button class="main" disabled=${isBusy}>Log in</button>
      </form>
    </main>
  `;
}

const container = document.getElementById("app");
// The header that is shown until the scripts are loaded.
container?.replaceChildren();
if (container !== null) render(html`<${App} />`, container);
