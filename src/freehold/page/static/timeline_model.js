/** The last operation of an object on an axis of time. Pure. */

/**
 * @typedef {object} Bar
 * @property {string} key
 * @property {string} kind
 * @property {string} name
 * @property {number} begun
 * @property {number | null} ended
 * @property {number | null} waited_until
 * @property {boolean} critical
 *
 * @typedef {object} History
 * @property {"create" | "delete" | "repair"} operation
 * @property {number} begun
 * @property {number | null} ended
 * @property {boolean} complete
 * @property {Bar[]} bars
 *
 * @typedef {object} Piece  Of the axis, as shares of its length.
 * @property {number} from
 * @property {number} length
 */

/** Lengths of a step on the axis, in seconds. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

/** @param {History} history @param {number} now @returns {{begun: number, ended: number}} what the axis spans */
export function spanOf(history, now) {
  const begun = Math.min(history.begun, ...history.bars.map((bar) => bar.begun));
  const ends = history.bars.map((bar) => bar.ended ?? now);
  return { begun, ended: Math.max(begun + 1, history.ended ?? now, ...ends) };
}

/** @param {{begun: number, ended: number}} span @param {number} most @returns {number[]} seconds after the begin */
export function findTicks({ begun, ended }, most) {
  const length = ended - begun;
  const step = STEPS.find((each) => length / each <= most) ?? Math.ceil(length / most / 604800) * 604800;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}

/**
 * Return where a bar waits for others, and where it is worked on.
 * @param {Bar} bar @param {{begun: number, ended: number}} span @param {number} now @returns {{waited: Piece | null, worked: Piece | null}}
 */
export function piecesOf(bar, span, now) {
  const end = bar.ended ?? Math.max(now, bar.begun);
  const free = Math.min(Math.max(bar.waited_until ?? bar.begun, bar.begun), end);
  return { waited: free > bar.begun ? piece(bar.begun, free, span) : null, worked: piece(free, end, span) };
}

/** @param {number} from @param {number} to @param {{begun: number, ended: number}} span @returns {Piece} */
function piece(from, to, span) {
  const length = span.ended - span.begun;
  return { from: (from - span.begun) / length, length: (to - from) / length };
}

/**
 * Order bars as their work began; what is one after the other stands so.
 * @param {Bar[]} bars @returns {Bar[]}
 */
export function orderBars(bars) {
  const start = (/** @type {Bar} */ bar) => bar.waited_until ?? bar.begun;
  return [...bars].sort((one, other) => start(one) - start(other) || (one.ended ?? Infinity) - (other.ended ?? Infinity) || 0);
}

/**
 * Choose the bars to show at first: those of the critical path, those that still run, and the longest.
 * @param {Bar[]} bars @param {number} most @param {number} now @returns {Bar[]}
 */
export function chooseBars(bars, most, now) {
  if (bars.length <= most) return bars;
  const must = bars.filter((bar) => bar.critical || bar.ended === null);
  const rest = bars.filter((bar) => !must.includes(bar));
  const worked = (/** @type {Bar} */ bar) => (bar.ended ?? now) - (bar.waited_until ?? bar.begun);
  const longest = rest.sort((one, other) => worked(other) - worked(one)).slice(0, Math.max(0, most - must.length));
  const chosen = new Set([...must, ...longest]);
  return bars.filter((bar) => chosen.has(bar));
}
