// Dialogs, which the browser itself keeps the keyboard in.

import { html } from "./format.js";
import { Component, createRef } from "./library/preact.js";

/**
 * A dialog that is open for as long as it is rendered.
 *
 * @extends {Component<{ title: string, onClose: () => void, children?: any, isWide?: boolean }>}
 */
export class Dialog extends Component {
  /** @type {{ current: HTMLDialogElement | null }} */
  element = createRef();

  /** @override */
  componentDidMount() {
    this.element.current?.showModal();
  }

  /** @override */
  render() {
    const { title, onClose, children, isWide } = this.props;
    return html`
      <dialog ref=${this.element} class=${isWide ? "wide" : ""} aria-labelledby="dialog-title" onClose=${onClose}>
        <header>
          <h2 id="dialog-title">${title}</h2>
          <button type="button" class="plain" aria-label="Close" onClick=${() => this.element.current?.close()}>✕</button>
        </header>
        ${children}
      </dialog>
    `;
  }
}

/**
 * Asks before something is done that cannot be undone.
 *
 * @extends {Component<{ title: string, action: string, onConfirm: () => Promise<void>, onClose: () => void, children?: any },
 *   { fault: string, isBusy: boolean }>}
 */
export class Confirmation extends Component {
  /** @override */
  state = { fault: "", isBusy: false };

  async confirm() {
    this.setState({ isBusy: true, fault: "" });
    try {
      await this.props.onConfirm();
      this.props.onClose();
    } catch (error) {
      this.setState({ isBusy: false, fault: error instanceof Error ? error.message : String(error) });
    }
  }

  /** @override */
  render() {
    const { title, action, onClose, children } = this.props;
    const { fault, isBusy } = this.state;
    return html`
      <${Dialog} title=${title} onClose=${onClose}>
        ${children}
        <${Fault} text=${fault} />
        <div class="actions">
          <button type="button" onClick=${onClose}>Cancel</button>
          <button type="button" class="grave" disabled=${isBusy} onClick=${() => this.confirm()}>${action}</button>
        </div>
      <//>
    `;
  }
}

/**
 * What went wrong, which is read out as soon as it is there.
 *
 * @param {{ text: string }} properties
 */
export function Fault({ text }) {
  return html`<p class="fault" role="alert" hidden=${text === ""}>${text}</p>`;
}
