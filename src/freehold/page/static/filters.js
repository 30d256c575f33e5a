/** Filters and orders of the list of objects, as they stand in the route's query. Pure. */

/** @typedef {import("./store.js").Row} Row */

/**
 * @typedef {object} Filter
 * @property {string} ns
 * @property {string} kind
 * @property {string[]} states
 * @property {string} text
 * @property {string} sort  a column, "-" before it for the other direction; "" by namespace and name
 */

/** @param {URLSearchParams} query @returns {Filter} */
export function readFilter(query) {
  return {
    ns: query.get("ns") ?? "",
    kind: query.get("kind") ?? "",
    states: (query.get("state") ?? "").split(",").filter(Boolean),
    text: query.get("q") ?? "",
    sort: query.get("sort") ?? "",
  };
}

/** @param {Filter} filter @returns {Record<string, string>} */
export function toQuery(filter) {
  return { ns: filter.ns, kind: filter.kind, state: filter.states.join(","), q: filter.text, sort: filter.sort };
}

/** @type {WeakMap<Row, string>} */
const texts = new WeakMap();

/** Return what the text filter searches. @param {Row} row */
function textOf(row) {
  let text = texts.get(row);
  if (text === undefined) {
    const needs = row.needs.map((need) => need.what);
    const parts = [row.name, row.namespace, row.kind, row.cluster, row.cloud, row.place, row.reason, row.phase];
    text = [...parts, ...needs].join("\n").toLowerCase();
    texts.set(row, text);
  }
  return text;
}

/**
 * Return the rows that pass, except for their state: the counts of states are made of them.
 * @param {Iterable<Row>} rows @param {Filter} filter @returns {Row[]}
 */
export function passOthers(rows, filter) {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return [...rows].filter(
    (row) =>
      (!filter.ns || row.namespace === filter.ns) &&
      (!filter.kind || row.kind === filter.kind) &&
      words.every((word) => textOf(row).includes(word)),
  );
}

const PHASE_RANK = { Blocked: 0, Deleting: 1, Progressing: 2, Paused: 3, Ready: 4 };

/** @type {Record<string, (row: Row) => string | number>} Values by which columns order. */
const ORDERS = {
  state: (row) => PHASE_RANK[row.phase] ?? 9,
  name: (row) => row.name,
  kind: (row) => row.kind,
  place: (row) => `${row.cloud} ${row.place}`,
  cluster: (row) => row.cluster,
  done: (row) => (row.total ? row.done / row.total : 1),
  since: (row) => -(row.since ?? Infinity),
  created: (row) => -(row.created ?? Infinity),
};

/** @param {Row[]} rows @param {string} sort @returns {Row[]} */
export function sortRows(rows, sort) {
  const value = ORDERS[sort.replace("-", "")];
  const direction = sort.startsWith("-") ? -1 : 1;
  const byName = (/** @type {Row} */ a, /** @type {Row} */ b) =>
    compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.kind, b.kind);
  return [...rows].sort((a, b) => (value ? direction * compare(value(a), value(b)) : 0) || byName(a, b));
}

/** @param {string | number} a @param {string | number} b */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
