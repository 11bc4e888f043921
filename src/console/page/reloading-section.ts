// A part of the page that loads its data when it appears, and again with every tick.

import { errorMessage } from "./api.ts";
import { Component } from "./library.js";
import { NewestResult } from "./newest-result.ts";

export abstract class ReloadingSection<
  Properties extends { tick: number },
  State extends { error: string },
> extends Component<Properties, State> {
  /** Requests the data from the server, as the part of the state that holds it. */
  abstract fetchData(): Promise<Partial<State>>;

  override componentDidMount() {
    void this.load();
  }

  override componentDidUpdate(previous: Properties) {
    if (previous.tick !== this.props.tick) void this.load();
  }

  override componentWillUnmount() {
    clearTimeout(this.timer);
  }

  timer: ReturnType<typeof setTimeout> | undefined = undefined;

  /** Loads the data again after a time, which is shorter than a tick. */
  loadAfter(ms: number) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.load(), ms);
  }

  loads = new NewestResult();

  /** Data that cannot be loaded stays as it was, below an error. */
  async load() {
    const isNewest = this.loads.start();
    try {
      const data = await this.fetchData();
      if (isNewest()) this.setState({ ...data, error: "" });
    } catch (error) {
      if (isNewest()) this.setState({ error: errorMessage(error) });
    }
  }
}
