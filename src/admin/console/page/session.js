// The password, where one is set.

import { sentenceOf, write } from "./api.js";
import { Fault } from "./dialogs.js";
import { html } from "./format.js";
import { Component } from "./library/preact.js";

/** @extends {Component<{ onOpen: () => void }, { password: string, fault: string, isBusy: boolean }>} */
export class LogIn extends Component {
  /** @override */
  state = { password: "", fault: "", isBusy: false };

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    this.setState({ isBusy: true, fault: "" });
    try {
      await write("session", { password: this.state.password });
      this.props.onOpen();
    } catch (error) {
      this.setState({ isBusy: false, password: "", fault: sentenceOf(error) });
    }
  }

  /** @override */
  render() {
    const { password, fault, isBusy } = this.state;
    return html`
      <main class="log-in">
        <form class="card" onSubmit=${(/** @type {SubmitEvent} */ event) => this.submit(event)}>
          <h1><img src="icon.svg" alt="" width="32" height="32" /> Plant Store console</h1>
          <label>
            Password
            <input
              type="password"
              name="password"
              autocomplete="current-password"
              required
              autofocus
              value=${password}
              onInput=${(/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) =>
                this.setState({ password: event.currentTarget.value })}
            />
          </label>
          <${Fault} text=${fault} />
          <button class="main" disabled=${isBusy}>Log in</button>
        </form>
      </main>
    `;
  }
}
