// The time at which the page loads what it shows again.

import { useEffect, useRef } from "./library.js";

/** The duration of a sample of the server. */
const tickMs = 5_000;

/**
 * Calls a function every few seconds, and when the page is shown again, but not while it is hidden
 * or the last call has not ended.
 */
export function useTicks(work: () => Promise<void>) {
  const newest = useRef(work);
  newest.current = work;
  const isBusy = useRef(false);
  useEffect(() => {
    const tick = async () => {
      if (document.hidden || isBusy.current) return;
      isBusy.current = true;
      await newest.current();
      isBusy.current = false;
    };
    const timer = setInterval(tick, tickMs);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, []);
}
