// Provides hooks for components that call the server, at once or every few seconds.

import { errorMessage } from "./api.ts";
import { useEffect, useRef, useState } from "./library.js";

/** Calls the server for the operator: whether a call is running, and why the last one failed. */
export function useCall() {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const call = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setError("");
    setError(await work().then(() => "", errorMessage));
    setBusy(false);
  };
  return { isBusy, error, setError, call };
}

/** Unfinished data is loaded again after this time, even after an error: sooner than by a tick. */
const unfinishedMs = 500;

/**
 * Loads data when the component appears, and again when a dependency changes. If a load fails, the
 * last data stays, with an error beside it.
 */
export function useLoaded<Data>(
  load: () => Promise<Data>,
  dependencies: readonly unknown[],
  isUnfinished: (data: Data) => boolean = () => false,
) {
  const [result, setResult] = useState<{ data: Data | null; error: string }>({ data: null, error: "" });
  const { data, error } = result;
  /** The numbers of the load that started last, and of the one whose result is shown. */
  const loads = useRef({ started: 0, shown: 0 });
  const newest = useRef(load);
  newest.current = load;
  const reload = async () => {
    const number = ++loads.current.started;
    const loaded = await newest.current().then(
      (found) => ({ data: found, error: "" }),
      (failure) => ({ error: errorMessage(failure) }),
    );
    if (number < loads.current.shown) return;
    loads.current.shown = number;
    setResult((last) => ({ ...last, ...loaded }));
  };
  useEffect(() => void reload(), dependencies);
  useEffect(() => {
    if (data === null || !isUnfinished(data)) return undefined;
    const timer = setTimeout(reload, unfinishedMs);
    return () => clearTimeout(timer);
  }, [result]);
  return { data, error, reload };
}

/** Handles the events of a target while the component is shown. */
export function useListener<Handled extends Event>(
  target: EventTarget,
  type: string,
  handle: (event: Handled) => void,
) {
  useEffect(() => {
    target.addEventListener(type, handle as EventListener);
    return () => target.removeEventListener(type, handle as EventListener);
  });
}

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
