// The log-in form.

import { errorMessage, post } from "./api.js";
import { ErrorMessage } from "./dialogs.js";
import { html } from "./format.js";
import { Component } from "./library/preact.js";
import { TextField } from "./text-field.js";

/** @extends {Component<{ onLogIn: () => void }, { password: string, error: string, isBusy: boolean }>} */
export class LogIn extends Component {
  /** @override */
  state = { password: "", error: "", isBusy: false };

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    this.setState({ isBusy: true, error: "" });
    try {
      await post("session", { password: this.state.password });
      this.props.onLogIn();
    } catch (error) {
      this.setState({ isBusy: false, password: "", error: errorMessage(error) });
    }
  }

  /** @override */
  render() {
    const { password, error, isBusy } = this.state;
    return html`
      <main class="log-in">
        <form class="card" onSubmit=${(/** @type {SubmitEvent} */ event) => this.submit(event)}>
          <h1><img src="icon.svg" alt="" width="32" height="32" /> Plant Store console</h1>
          <${TextField}
            label="Password"
            name="password"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            value=${password}
            onText=${(/** @type {string} */ text) => this.setState({ password: text })}
          />
          <${ErrorMessage} text=${error} />
          <button class="main" disabled=${isBusy}>Log in</button>
        </form>
      </main>
    `;
  }
}
