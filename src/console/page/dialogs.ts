// Shows modal dialogs, confirmations and error messages.

import { useCall } from "./hooks.ts";
import { type ComponentChildren, useLayoutEffect, useRef } from "./library.js";
import { html, onSubmit } from "./markup.ts";

/**
 * A modal dialog, open while it is rendered. The browser keeps the keyboard focus inside.
 *
 * `isPinned`: Escape does not close it.
 */
export function Dialog({
  title,
  onClose,
  children,
  isWide,
  isPinned,
}: {
  title: ComponentChildren;
  onClose: () => void;
  children?: ComponentChildren;
  isWide?: boolean;
  isPinned?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => element.current?.showModal(), []);
  // For browsers without closedby; in Chromium a page can cancel the first Escape only.
  const onCancel = (event: Event) => {
    if (isPinned) event.preventDefault();
  };
  return html`
    <dialog ref=${element} class=${isWide ? "wide" : ""} aria-labelledby="dialog-title" closedby=${isPinned ? "none" : "closerequest"} onClose=${onClose} onCancel=${onCancel}>
      <header>
        <h2 id="dialog-title">${title}</h2>
        ${!isPinned && html`<button type="button" class="plain" aria-label="Close" onClick=${() => element.current?.close()}>✕</button>`}
      </header>
      ${children}
    </dialog>
  `;
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
  onAction: (form: HTMLFormElement) => Promise<unknown>;
  onClose: () => void;
  children?: ComponentChildren;
}

/** A dialog with a form, whose fields are its children, and one action. */
export function ActionDialog({
  title,
  action,
  dismissal = "Cancel",
  isDangerous = false,
  onAction,
  onClose,
  children,
}: ActionProperties) {
  const { isBusy, error, call } = useCall();
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form onSubmit=${onSubmit((form) => call(() => onAction(form)))}>
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

/** Asks before a change that is hard to undo, and closes when it is made. */
export function Confirmation({
  onConfirm,
  ...others
}: Omit<ActionProperties, "onAction"> & { onConfirm: () => Promise<unknown> }) {
  return html`<${ActionDialog} ...${others} isDangerous onAction=${() => onConfirm().then(others.onClose)} />`;
}

/** An error, which screen readers announce when it appears. */
export function ErrorMessage({ text }: { text: string }) {
  return html`<p class="error" role="alert" hidden=${text === ""}>${text}</p>`;
}
