// The log-in form.

import { errorMessage, post } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { html } from "./format.ts";
import { Component } from "./library.js";
import { TextField } from "./text-field.ts";

export class LogIn extends Component<
  { onLogIn: () => void },
  { password: string; error: string; isBusy: boolean }
> {
  override state = { password: "", error: "", isBusy: false };

  async submit(event: SubmitEvent) {
    event.preventDefault();
    this.setState({ isBusy: true, error: "" });
    try {
      await post("session", { password: this.state.password });
      this.props.onLogIn();
    } catch (error) {
      this.setState({ isBusy: false, password: "", error: errorMessage(error) });
    }
  }

  override render() {
    const { password, error, isBusy } = this.state;
    return html`
      <main class="log-in">
        <form class="card" onSubmit=${(event: SubmitEvent) => this.submit(event)}>
          <h1><img src="icon.svg" alt="" width="32" height="32" /> Plant Store console</h1>
          <${TextField}
            label="Password"
            name="password"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            value=${password}
            onText=${(text: string) => this.setState({ password: text })}
          />
          <${ErrorMessage} text=${error} />
          <button class="main" disabled=${isBusy}>Log in</button>
        </form>
      </main>
    `;
  }
}
