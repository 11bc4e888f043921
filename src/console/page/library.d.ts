// The types of library.js, and what `npm run update:vendored` bundles into it.
export { default as htm } from "htm";
export { Component, type ComponentChildren, createRef, h, render } from "preact";
export { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
export { default as uPlot } from "uplot";
