// Hooks of components that call the server.

import { errorMessage } from "./api.ts";
import { useEffect, useRef, useState } from "./library.js";
import { NewestResult } from "./newest-result.ts";

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

/** Unfinished data is loaded again after this time, also after an error. It is shorter than a tick. */
const unfinishedMs = 500;

/**
 * Data that is loaded when the component appears, and again when a dependency changes. Data that
 * cannot be loaded stays as it was, beside an error.
 */
export function useLoaded<Data>(
  load: () => Promise<Data>,
  dependencies: readonly unknown[],
  isUnfinished: (data: Data) => boolean = () => false,
) {
  const [result, setResult] = useState<{ data: Data | null; error: string }>({ data: null, error: "" });
  const { data, error } = result;
  const loads = useRef(new NewestResult());
  const newest = useRef(load);
  newest.current = load;
  const reload = async () => {
    const isNewest = loads.current.start();
    const loaded = await newest.current().then(
      (found) => ({ data: found, error: "" }),
      (failure) => ({ error: errorMessage(failure) }),
    );
    if (isNewest()) setResult((last) => ({ ...last, ...loaded }));
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
