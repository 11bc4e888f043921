// A section of the page that loads its data when it appears, and again with every slow tick.

import { errorMessage } from "./api.js";
import { Component } from "./library/preact.js";

/**
 * @template {{ slowTick: number }} Properties
 * @template {{ error: string }} State
 * @extends {Component<Properties, State>}
 */
export class ReloadingSection extends Component {
  /**
   * Requests the data from the server, as the part of the state that holds it.
   *
   * @returns {Promise<Partial<State>>}
   */
  fetchData() {
    throw new Error("A section must define fetchData.");
  }

  /**
   * @override
   * @returns {any}
   */
  render() {
    return null;
  }

  /** @override */
  componentDidMount() {
    void this.load();
  }

  /**
   * @override
   * @param {Properties} previous
   */
  componentDidUpdate(previous) {
    if (previous.slowTick !== this.props.slowTick) void this.load();
  }

  /** Data that cannot be loaded stays as it was, below an error. */
  async load() {
    try {
      this.setState({ ...(await this.fetchData()), error: "" });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }
}
