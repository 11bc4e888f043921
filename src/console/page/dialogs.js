// Modal dialogs, confirmations and error messages.

import { errorMessage } from "./api.js";
import { html } from "./format.js";
import { Component, createRef } from "./library/preact.js";

/**
 * A modal dialog, open while it is rendered. The browser keeps the keyboard focus inside.
 *
 * `isPinned`: Escape does not close it.
 *
 * @extends {Component<{ title: any, onClose: () => void, children?: any, isWide?: boolean, isPinned?: boolean }>}
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
    const { title, onClose, children, isWide, isPinned } = this.props;
    const onCancel = (/** @type {Event} */ event) => {
      if (isPinned) event.preventDefault();
    };
    return html`
      <dialog ref=${this.element} class=${isWide ? "wide" : ""} aria-labelledby="dialog-title" onClose=${onClose} onCancel=${onCancel}>
        <header>
          <h2 id="dialog-title">${title}</h2>
          ${!isPinned && html`<button type="button" class="plain" aria-label="Close" onClick=${() => this.element.current?.close()}>✕</button>`}
        </header>
        ${children}
      </dialog>
    `;
  }
}

/**
 * A dialog with a form, whose fields are its children.
 *
 * @param {{ title: any, action: string, dismissal: string, error: string, isBusy: boolean, onSubmit: () => void,
 *   onClose: () => void, children?: any }} properties `action` and `dismissal` are the labels of the buttons.
 */
export function FormDialog({ title, action, dismissal, error, isBusy, onSubmit, onClose, children }) {
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    onSubmit();
  };
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form onSubmit=${submit}>
        ${children}
        <${ErrorMessage} text=${error} />
        <div class="actions">
          <button type="button" onClick=${onClose}>${dismissal}</button>
          <button class="main" disabled=${isBusy}>${action}</button>
        </div>
      </form>
    <//>
  `;
}

/**
 * Asks before a change that is hard to undo.
 *
 * @extends {Component<{ title: string, action: string, onConfirm: () => Promise<void>, onClose: () => void, children?: any },
 *   { error: string, isBusy: boolean }>}
 */
export class Confirmation extends Component {
  /** @override */
  state = { error: "", isBusy: false };

  async confirm() {
    this.setState({ isBusy: true, error: "" });
    try {
      await this.props.onConfirm();
      this.props.onClose();
    } catch (error) {
      this.setState({ isBusy: false, error: errorMessage(error) });
    }
  }

  /** @override */
  render() {
    const { title, action, onClose, children } = this.props;
    const { error, isBusy } = this.state;
    return html`
      <${Dialog} title=${title} onClose=${onClose}>
        ${children}
        <${ErrorMessage} text=${error} />
        <div class="actions">
          <button type="button" autofocus onClick=${onClose}>Cancel</button>
          <button type="button" class="danger" disabled=${isBusy} onClick=${() => this.confirm()}>${action}</button>
        </div>
      <//>
    `;
  }
}

/**
 * An error, which screen readers announce when it appears.
 *
 * @param {{ text: string }} properties
 */
export function ErrorMessage({ text }) {
  return html`<p class="error" role="alert" hidden=${text === ""}>${text}</p>`;
}
