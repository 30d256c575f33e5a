/** How states look: each has a tone (colour), a shape and a word, so that none is told by colour alone. */

import { datum, h, svg } from "./dom.js";

/** @typedef {"ready" | "moving" | "blocked" | "paused" | "deleting" | "quiet"} Tone  `--TONE` etc. in style.css */
/** @typedef {"check" | "turning" | "stop" | "bars" | "minus" | "dot" | "question" | "plus" | "key" | "unequal"} Shape */

/** @type {Record<string, {tone: Tone, shape: Shape}>} Phases of objects, and states of resources. */
const STATES = {
  Ready: { tone: "ready", shape: "check" },
  Progressing: { tone: "moving", shape: "turning" },
  Waiting: { tone: "moving", shape: "turning" },
  Blocked: { tone: "blocked", shape: "stop" },
  Paused: { tone: "paused", shape: "bars" },
  Deleting: { tone: "deleting", shape: "minus" },
  Surplus: { tone: "deleting", shape: "plus" },
  Kept: { tone: "paused", shape: "dot" },
  NotCreated: { tone: "quiet", shape: "dot" },
  Gone: { tone: "quiet", shape: "minus" },
  Unknown: { tone: "quiet", shape: "question" },
};
const OTHER = /** @type {const} */ ({ tone: "quiet", shape: "dot" });

/** Phases in the order in which they are shown. */
export const PHASES = /** @type {const} */ (["Blocked", "Deleting", "Progressing", "Paused", "Ready"]);

/** @param {string} state @returns {Tone} */
export function toneOf(state) {
  return (Object.hasOwn(STATES, state) ? STATES[state] : OTHER).tone;
}

/** @param {string} state @returns {Shape} */
export function shapeOf(state) {
  return (Object.hasOwn(STATES, state) ? STATES[state] : OTHER).shape;
}

/** Paths within 16 × 16; drawn in the colour of the tone, and `cut` in that of the ground. */
const SHAPES = {
  check: { fill: "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1", cut: "M4.8 8.3 7 10.5l4.3-4.8" },
  turning: { line: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2", fill: "M8 8V4a4 4 0 0 1 4 4z" },
  stop: { fill: "M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z", cut: "M8 4.2v4.6M8 11.2v.6" },
  bars: {
    fill: "M3.5 1h9A2.5 2.5 0 0 1 15 3.5v9a2.5 2.5 0 0 1-2.5 2.5h-9A2.5 2.5 0 0 1 1 12.5v-9A2.5 2.5 0 0 1 3.5 1",
    cut: "M6 5v6M10 5v6",
  },
  minus: { fill: "M8 .6 15.4 8 8 15.4.6 8z", cut: "M5 8h6" },
  plus: { fill: "M8 .6 15.4 8 8 15.4.6 8z", cut: "M5 8h6M8 5v6" },
  dot: { line: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2", fill: "M8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4" },
  key: {
    fill: "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1",
    cut: "M6 4.2a2 2 0 1 1 0 4 2 2 0 0 1 0-4M7.4 7.6l3.8 3.8M9.6 9.8l-1.2 1.2",
  },
  unequal: { fill: "M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z", cut: "M4.8 6.3h6.4M4.8 9.7h6.4M9.8 4 6.2 12" },
  question: { line: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M6.3 6.5a1.7 1.7 0 1 1 2.4 1.6c-.5.3-.7.6-.7 1.2M8 11.2v.4" },
};

/**
 * Build the mark of a state: shape and colour, silent to a screen reader; put its word beside it.
 * @param {string} state
 * @returns {SVGElement}
 */
export function stateMark(state) {
  return shapeMark(shapeOf(state), toneOf(state));
}

/** @param {Shape} shape @param {Tone} tone @returns {SVGElement} */
export function shapeMark(shape, tone) {
  const paths = SHAPES[shape];
  return svg(
    "svg",
    { class: `mark tone-${tone}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    paths.fill && svg("path", { class: "mark-fill", d: paths.fill }),
    paths.line && svg("path", { class: "mark-line", d: paths.line }),
    paths.cut && svg("path", { class: "mark-cut", d: paths.cut }),
  );
}

/**
 * Build mark and word of a state.
 * @param {string} state
 * @returns {HTMLElement}
 */
export function stateBadge(state) {
  return h("span", { class: `state tone-${toneOf(state)}` }, stateMark(state), datum(state));
}
