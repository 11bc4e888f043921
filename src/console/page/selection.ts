// The bar of the selected plants: all that a search finds, and their deletion or the change of
// their tag in one run.

import type { BulkEdits } from "../bulk-edits.ts";
import { type Answer, get, post } from "./api.ts";
import { CallingComponent } from "./calling-component.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { html, untrustedText } from "./format.ts";
import { undo } from "./history.ts";
import { parseQuery } from "./query.ts";
import { TextField } from "./text-field.ts";
import { formatCount } from "./units.ts";

interface State {
  change: "delete" | "tag" | null;
  tag: string;
  note: string;
  run: string;
  error: string;
  isBusy: boolean;
}

interface Properties {
  ids: Set<string>;
  query: string;
  onSelect: (ids: Set<string>) => void;
  onEdited: () => void;
}

/** `query` is the search that is shown. */
export class Selection extends CallingComponent<Properties, State> {
  override state: State = { change: null, tag: "", note: "", run: "", error: "", isBusy: false };

  /** Runs a call whose result is a sentence. */
  async run(work: () => Promise<Partial<State>>) {
    this.setState({ note: "", run: "" });
    await this.call(async () => this.setState(await work()));
  }

  selectAll() {
    return this.run(async () => {
      const { ids, isComplete }: Answer<BulkEdits["find"]> = await get(
        `plants/ids?${new URLSearchParams(parseQuery(this.props.query).parameters)}`,
      );
      this.props.onSelect(new Set(ids));
      return {
        note: isComplete ? "" : `These are the first ${formatCount(ids.length, "plant")} that were found.`,
      };
    });
  }

  async edit(change: "delete" | "tag") {
    const { tag } = this.state;
    const { run, edited, unchanged, left }: Answer<BulkEdits["edit"]> = await post("plants/edit", {
      ids: [...this.props.ids].join(" "),
      change: change === "tag" && tag === "" ? "untag" : change,
      tag,
    });
    const parts = [
      `${formatCount(edited, "plant")} ${change === "delete" ? "deleted" : "changed"}`,
      ...(unchanged > 0 ? [`${formatCount(unchanged, "plant")} left as they were`] : []),
      ...(left > 0 ? [`${formatCount(left, "plant")} changed since and left as they are`] : []),
    ];
    this.setState({ note: `${parts.join(", ")}, in the run ${run}.`, run: edited > 0 ? run : "" });
    this.props.onSelect(new Set());
    this.props.onEdited();
  }

  undo() {
    return this.run(async () => {
      const note = await undo(this.state.run, "");
      this.props.onEdited();
      return { note };
    });
  }

  override render() {
    const { ids, onSelect } = this.props;
    const { note, run, error, isBusy, change } = this.state;
    const open = (to: "delete" | "tag") => () => this.setState({ change: to, tag: "", note: "", run: "" });
    return html`
      ${
        ids.size > 0 &&
        html`
          <div class="inline" role="group" aria-label="Selected plants">
            <b role="status">${formatCount(ids.size, "plant")} selected</b>
            <button type="button" class="quiet" disabled=${isBusy} onClick=${() => this.selectAll()}>Select all found</button>
            <button type="button" class="quiet" onClick=${() => onSelect(new Set())}>Select none</button>
            <button type="button" disabled=${isBusy} onClick=${open("tag")}>Set the tag</button>
            <button type="button" class="danger" disabled=${isBusy} onClick=${open("delete")}>Delete</button>
          </div>
        `
      }
      <p class="note" role="status">
        ${isBusy && "Working… "}${note} ${run !== "" && html`<button type="button" class="link" onClick=${() => this.undo()}>Undo</button>`}
      </p>
      <${ErrorMessage} text=${error} />
      ${change !== null && this.question(change)}
    `;
  }

  question(change: "delete" | "tag") {
    const { tag } = this.state;
    const count = formatCount(this.props.ids.size, "plant");
    return html`
      <${Confirmation}
        title=${change === "delete" ? `Delete ${count}?` : `Set the tag of ${count}?`}
        action=${change === "delete" ? `Delete ${count}` : `Change ${count}`}
        onConfirm=${() => this.edit(change)}
        onClose=${() => this.setState({ change: null })}
      >
        ${
          change === "tag" &&
          html`<${TextField}
            label="Tag"
            name="tag"
            dir="auto"
            hint="Empty to remove the tag"
            value=${tag}
            onText=${(text: string) => this.setState({ tag: text })}
          />`
        }
        <p class="note">
          ${change === "delete" ? "A client that sends one of these ids again creates the plant again." : tag === "" ? "Their tags are removed." : html`All of them get the tag ${untrustedText(tag)}.`}
          ${" "}It is one run of the history, and can be undone.
        </p>
      <//>
    `;
  }
}
