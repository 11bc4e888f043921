// The types of library.js, and what `npm run update:vendored` bundles into it.
export { default as htm } from "htm";
export { type ComponentChildren, h, render } from "preact";
export { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
