// Modal dialogs, confirmations and error messages.

import { CallingComponent } from "./calling-component.ts";
import { html } from "./format.ts";
import { Component, type ComponentChildren, createRef } from "./library.js";

/**
 * A modal dialog, open while it is rendered. The browser keeps the keyboard focus inside.
 *
 * `isPinned`: Escape does not close it.
 */
export class Dialog extends Component<{
  title: ComponentChildren;
  onClose: () => void;
  children?: ComponentChildren;
  isWide?: boolean;
  isPinned?: boolean;
}> {
  element: { current: HTMLDialogElement | null } = createRef();

  override componentDidMount() {
    this.element.current?.showModal();
  }

  override render() {
    const { title, onClose, children, isWide, isPinned } = this.props;
    const onCancel = (event: Event) => {
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

interface ActionProperties {
  title: ComponentChildren;
  /** The label of the button. */
  action: string;
  /** The label of the button that only closes the dialog. */
  dismissal?: string;
  /** Whether the change is hard to undo: then the other button has the focus. */
  isDangerous?: boolean;
  /** The dialog shows its error. */
  onAction: () => Promise<void>;
  onClose: () => void;
  children?: ComponentChildren;
}

/** A dialog with a form, whose fields are its children, and one action. */
export class ActionDialog extends CallingComponent<ActionProperties, { error: string; isBusy: boolean }> {
  override state = { error: "", isBusy: false };

  override render() {
    const { title, action, dismissal = "Cancel", isDangerous = false, onClose, children } = this.props;
    const { error, isBusy } = this.state;
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      void this.call(this.props.onAction);
    };
    return html`
      <${Dialog} title=${title} onClose=${onClose}>
        <form onSubmit=${submit}>
          ${children}
          <${ErrorMessage} text=${error} />
          <div class="actions">
            <button type="button" autofocus=${isDangerous} onClick=${onClose}>${dismissal}</button>
            <button class=${isDangerous ? "danger" : "main"} disabled=${isBusy}>${action}</button>
          </div>
        </form>
      <//>
    `;
  }
}

/** Asks before a change that is hard to undo, and closes when it is made. */
export function Confirmation({
  onConfirm,
  ...others
}: Omit<ActionProperties, "onAction"> & { onConfirm: () => Promise<void> }) {
  const onAction = async () => {
    await onConfirm();
    others.onClose();
  };
  return html`<${ActionDialog} ...${others} isDangerous onAction=${onAction} />`;
}

/** An error, which screen readers announce when it appears. */
export function ErrorMessage({ text }: { text: string }) {
  return html`<p class="error" role="alert" hidden=${text === ""}>${text}</p>`;
}
