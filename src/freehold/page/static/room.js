/** The room that the page has, by the size of its text: larger text makes it narrow too. */

/** Width below which each row of a table becomes a block, as in cluster.css. */
const NARROW = 52;

/** @returns {boolean} whether there is room for little beside a name */
export function isNarrow() {
  return widthInRem() < NARROW;
}

/** @returns {number} */
export function widthInRem() {
  const root = document.documentElement;
  return root.clientWidth / (Number.parseFloat(getComputedStyle(root).fontSize) || 16);
}
