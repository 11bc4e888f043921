// A component that calls the server for the operator, one call at a time.

import { errorMessage } from "./api.ts";
import { Component } from "./library.js";

export abstract class CallingComponent<
  Properties,
  State extends { error: string; isBusy: boolean },
> extends Component<Properties, State> {
  /** Shows that a call is running, and its error if it fails. */
  async call(work: () => Promise<unknown>) {
    this.setState({ isBusy: true, error: "" });
    const error = await work().then(() => "", errorMessage);
    this.setState({ isBusy: false, error });
  }
}
