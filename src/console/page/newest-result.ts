// Keeps the results of overlapping calls in order.

export class NewestResult {
  #started = 0;
  #shown = 0;

  /**
   * Call it when a call starts. The result is to be asked once, when the call has ended: whether no
   * call that started later has ended before.
   */
  start(): () => boolean {
    const number = ++this.#started;
    return () => {
      if (number < this.#shown) return false;
      this.#shown = number;
      return true;
    };
  }
}
