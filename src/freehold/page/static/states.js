/** How the state of a resource looks: a word, a mark with a shape of its own, and a tone. Never a colour alone. */

import { h, svg } from "./dom.js";

/**
 * @typedef {object} Look
 * @property {"good" | "busy" | "bad" | "odd" | "gone"} tone
 * @property {string} word
 * @property {string} shape  path of the outline, in a square of 16
 * @property {string} sign  path of the sign within it
 */

const CIRCLE = "M8 1a7 7 0 1 0 0 14a7 7 0 1 0 0-14z";
const OCTAGON = "M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z";
const DIAMOND = "M8 .5L15.5 8L8 15.5L.5 8z";
const SQUARE = "M1.5 1.5h13v13h-13z";
const TRIANGLE = "M8 1L15.5 14.5H.5z";

/** @type {Record<string, Look>} */
const LOOKS = {
  Ready: { tone: "good", word: "Ready", shape: CIRCLE, sign: "M4.5 8.2l2.4 2.4l4.6-5" },
  Waiting: { tone: "busy", word: "Waiting", shape: DIAMOND, sign: "M8 4.6v3.6l2.2 1.6" },
  Blocked: { tone: "bad", word: "Blocked", shape: OCTAGON, sign: "M5.2 5.2l5.6 5.6M10.8 5.2l-5.6 5.6" },
  Deleting: { tone: "busy", word: "Deleting", shape: SQUARE, sign: "M8 4v7M5 8.4l3 3l3-3" },
  Surplus: { tone: "odd", word: "Surplus", shape: TRIANGLE, sign: "M8 6.4v5M5.5 8.9h5" },
  Kept: { tone: "odd", word: "Kept", shape: SQUARE, sign: "M5 6.4h6M5 9.6h6" },
  Gone: { tone: "gone", word: "Gone", shape: CIRCLE, sign: "M5 8h6" },
  NotCreated: { tone: "gone", word: "Not created", shape: CIRCLE, sign: "" },
  Unknown: { tone: "odd", word: "Unknown", shape: TRIANGLE, sign: "M8 6.2v3.4M8 11.2v1" },
};

/** States that ask for nothing more: what is in one of them is left out by "only what is not Ready". */
const SETTLED = new Set(["Ready", "Gone", "NotCreated"]);

/** From what a person should see first to what needs no look; a state that is not here comes before all. */
const GRAVITY = ["Blocked", "Unknown", "Surplus", "Deleting", "Waiting", "Kept", "NotCreated", "Gone", "Ready"];

/** @type {Record<string, {word: string, meaning: string}>} */
const OWNERSHIPS = {
  managed: { word: "managed", meaning: "made by Freehold for this object, and deleted with it" },
  shared: { word: "shared", meaning: "made by Freehold, and also used by the cluster's own cloud provider" },
  unmanaged: { word: "given", meaning: "was there before: used, never changed and never deleted" },
  unknown: { word: "not decided", meaning: "nothing proves yet whose it is" },
};

/** @param {string} state @returns {Look} */
export function lookOf(state) {
  return Object.hasOwn(LOOKS, state) ? LOOKS[state] : { ...LOOKS.Unknown, word: state || "Unknown" };
}

/** @param {string} ownership @returns {{word: string, meaning: string}} */
export function ownershipOf(ownership) {
  return Object.hasOwn(OWNERSHIPS, ownership) ? OWNERSHIPS[ownership] : { word: ownership, meaning: "" };
}

/** @param {{state: string, drift: unknown[]}} resource @returns {boolean} whether nobody has to look at it */
export function isSettled(resource) {
  return SETTLED.has(resource.state) && !resource.drift.length;
}

/** @param {string[]} states @returns {string} the one that a person should see first */
export function gravest(states) {
  return states.reduce((worst, each) => (GRAVITY.indexOf(each) < GRAVITY.indexOf(worst) ? each : worst));
}

/** @param {string[]} states @returns {[string, number][]} how many are in each, the gravest first */
export function countStates(states) {
  const counts = new Map();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => GRAVITY.indexOf(one) - GRAVITY.indexOf(other));
}

/**
 * Build the mark of a state, for use within an SVG.
 * @param {string} state @param {number} x @param {number} y @param {number} size
 */
export function stateShape(state, x, y, size) {
  const { tone, shape, sign } = lookOf(state);
  return svg(
    "g",
    { class: `state-mark tone-${tone}`, transform: `translate(${x} ${y}) scale(${size / 16})`, "aria-hidden": "true" },
    svg("path", { d: shape, class: "state-shape" }),
    sign && svg("path", { d: sign, class: "state-sign" }),
  );
}

/** @param {string} state @returns {HTMLElement} the mark and the word */
export function stateLabel(state) {
  const { tone, word } = lookOf(state);
  const mark = svg("svg", { viewBox: "0 0 16 16", class: "state-icon", "aria-hidden": "true" }, stateShape(state, 0, 0, 16));
  return h("span", { class: `state tone-${tone}` }, mark, h("span", null, word));
}
