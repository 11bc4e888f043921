// The log-in form.

import { post } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { useCall } from "./hooks.ts";
import { html, onSubmit, textsOf } from "./markup.ts";
import { TextField } from "./text-field.ts";

export function LogIn({ onLogIn }: { onLogIn: () => Promise<void> }) {
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
