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
 * @property {"create" | "update" | "repair" | "delete"} operation
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

/** The axis is cut where what still runs takes longer than this many seconds, and this share of it. */
const [LONG, MOST] = [1800, 0.8];

/**
 * Find what the axis spans. Where nothing has happened for long, it ends soon after the last event.
 * @param {History} history @param {number} now @returns {{begun: number, ended: number, cut: boolean}}
 */
export function spanOf(history, now) {
  const begun = Math.min(history.begun, ...history.bars.map((bar) => bar.begun));
  const events = history.bars.flatMap((bar) => [bar.begun, bar.waited_until ?? begun, bar.ended ?? begun]);
  const last = Math.max(begun, history.ended ?? begun, ...events);
  const runs = history.ended === null || history.bars.some((bar) => bar.ended === null);
  const end = Math.max(begun + 1, last, runs ? now : last);
  const soon = Math.max(begun + LONG, begun + (last - begun) / (1 - MOST));
  return { begun, ended: Math.min(end, soon), cut: runs && end > soon };
}

/** @param {{begun: number, ended: number}} span @param {number} most @returns {number[]} seconds after the begin */
export function findTicks({ begun, ended }, most) {
  const length = ended - begun;
  const step = STEPS.find((each) => length / each <= most) ?? Math.ceil(length / most / 604800) * 604800;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}

/**
 * Return where a bar waits for others, and where it is worked on. While it waits it has no `waited_until`; of an
 * operation whose begin nobody saw, only the end of a bar is known.
 * @param {Bar} bar @param {History} history @param {{begun: number, ended: number}} span @param {number} now
 * @returns {{waited: Piece | null, worked: Piece | null, unknown: Piece | null}}
 */
export function piecesOf(bar, history, span, now) {
  const end = Math.min(bar.ended ?? Math.max(now, bar.begun), span.ended);
  const whole = piece(bar.begun, end, span);
  if (isWaiting(bar, history)) return { waited: whole, worked: null, unknown: null };
  if (bar.waited_until === null) return { waited: null, worked: null, unknown: whole };
  const free = Math.min(Math.max(bar.waited_until, bar.begun), end);
  return {
    waited: free > bar.begun ? piece(bar.begun, free, span) : null,
    worked: piece(free, end, span),
    unknown: null,
  };
}

/** @param {Bar} bar @param {History} history @returns {boolean} whether it still waits for others */
export function isWaiting(bar, history) {
  return history.complete && bar.ended === null && bar.waited_until === null;
}

/** @param {number} from @param {number} to @param {{begun: number, ended: number}} span @returns {Piece} */
function piece(from, to, span) {
  const length = span.ended - span.begun;
  return { from: (from - span.begun) / length, length: (to - from) / length };
}

/**
 * Order bars as their work began, what waits last; those that began together as they ended.
 * @param {History} history @param {Bar[]} bars @returns {Bar[]}
 */
export function orderBars(history, bars) {
  const start = (/** @type {Bar} */ bar) =>
    bar.waited_until ?? (isWaiting(bar, history) ? Number.MAX_VALUE : bar.begun);
  const end = (/** @type {Bar} */ bar) => bar.ended ?? Number.MAX_VALUE;
  return [...bars].sort((one, other) => start(one) - start(other) || end(one) - end(other));
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
