/**
 * Places of cards and ways of lines, in columns from left to right, by dagre: it keeps lines from crossing, which is
 * most of the work of a layout. It is one module of 17 kB as sent, and is read only where a graph is drawn.
 */

import { Graph, layout } from "./vendor/dagre.esm.js";

/**
 * @typedef {object} Place  Of a card: its upper left corner.
 * @property {number} x
 * @property {number} y
 *
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {Map<string, Place>} places  by the id of the card
 * @property {string[]} ways  a path for each line of the graph
 */

/** Columns of cards that no line leads to, below the others. */
const LEAST_COLUMNS = 3;

/**
 * Place the cards of a graph.
 * @param {import("./graph_model.js").Graph} graph
 * @param {{width: number, height: number, gap: number}} card  size of a card, and the room around it
 * @returns {Layout}
 */
export function placeCards({ cards, lines }, { width, height, gap }) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: "LR",
    nodesep: gap * 0.75,
    ranksep: gap * 3,
    edgesep: gap / 2,
    marginx: gap,
    marginy: gap,
  });
  const linked = new Set(lines.flatMap(({ from, to }) => [from, to]));
  const [inside, alone] = [cards.filter(({ id }) => linked.has(id)), cards.filter(({ id }) => !linked.has(id))];
  for (const { id } of inside) graph.setNode(id, { width, height });
  lines.forEach(({ from, to }, index) => graph.setEdge(from, to, {}, String(index)));
  if (inside.length) layout(graph);
  liftRoots(graph, height + gap * 0.75);
  const size = inside.length ? graph.graph() : {};
  const places = new Map(inside.map(({ id }) => [id, cornerOf(graph.node(id), width, height)]));
  const top = size.height ?? gap;
  const columns = Math.max(Math.floor((size.width ?? 0) / (width + gap)), Math.min(alone.length, LEAST_COLUMNS));
  alone.forEach(({ id }, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    places.set(id, { x: gap + column * (width + gap), y: top + row * (height + gap) });
  });
  const ways = lines.map(({ from, to }, index) => {
    const [start, end] = [graph.node(from), graph.node(to)];
    const { points } = graph.edge(from, to, String(index));
    return end.x > start.x ? drawWay(attach(points, start, end, width / 2)) : drawWay(points);
  });
  const rows = Math.ceil(alone.length / Math.max(columns, 1));
  const across = alone.length ? gap + columns * (width + gap) : 0;
  return { width: Math.max(size.width ?? 0, across), height: top + rows * (height + gap), places, ways };
}

/**
 * Move the cards of the first column up to the first of what needs them: a graph is read from its upper left corner,
 * and in a high one the middle, where dagre puts them, is not in view.
 * @param {Graph} graph @param {number} step  from a card to the one below it
 */
function liftRoots(graph, step) {
  const nodes = graph.nodes();
  const first = Math.min(...nodes.map((id) => graph.node(id).x));
  const column = nodes
    .filter((id) => graph.node(id).x === first)
    .sort((one, other) => graph.node(one).y - graph.node(other).y);
  let free = Number.NEGATIVE_INFINITY;
  for (const id of column) {
    const node = graph.node(id);
    const users = (graph.successors(id) ?? []).map((each) => graph.node(each).y);
    node.y = Math.max(free, Math.min(node.y, ...users));
    free = node.y + step;
  }
}

/** @param {{x: number, y: number}} center @param {number} width @param {number} height @returns {Place} */
function cornerOf({ x, y }, width, height) {
  return { x: x - width / 2, y: y - height / 2 };
}

/**
 * Let a way leave a card in the middle of its right side and come to the next one in the middle of its left. Of the
 * points between, those beside the two cards are left out: a single bend leads from one column into the next.
 * @param {{x: number, y: number}[]} points @param {{x: number, y: number}} start @param {{x: number, y: number}} end
 * @param {number} half  of the width of a card @returns {{x: number, y: number}[]}
 */
function attach(points, start, end, half) {
  return [{ x: start.x + half, y: start.y }, ...points.slice(2, -2), { x: end.x - half, y: end.y }];
}

/**
 * Draw a line through the points, level at each of them.
 * @param {{x: number, y: number}[]} points @returns {string}
 */
export function drawWay([first, ...rest]) {
  let { x, y } = first;
  let way = `M${round(x)} ${round(y)}`;
  for (const point of rest) {
    const middle = round((x + point.x) / 2);
    way += `C${middle} ${round(y)} ${middle} ${round(point.y)} ${round(point.x)} ${round(point.y)}`;
    ({ x, y } = point);
  }
  return way;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
