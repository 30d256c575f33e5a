/** All objects: filters that stand in the address, and a virtual list with one row each. */

import { datum, h, replace, setText } from "./dom.js";
import { passOthers, readFilter, sortRows, toQuery } from "./filters.js";
import { counted, grouped } from "./format.js";
import { ageSince, shareBar } from "./parts.js";
import { hrefWith, objectHref } from "./route.js";
import { PHASES, stateBadge, stateMark, toneOf } from "./states.js";
import { VirtualRows } from "./virtual.js";

/** @typedef {import("./store.js").Row} Row */

/** Columns: `sort` names the order of filters.js. */
const COLUMNS = [
  { id: "state", title: "State", sort: "state" },
  { id: "name", title: "Object", sort: "name" },
  { id: "kind", title: "Kind", sort: "kind" },
  { id: "place", title: "Where", sort: "place" },
  { id: "done", title: "Resources", sort: "done" },
  { id: "since", title: "For", sort: "since" },
  { id: "reason", title: "Why", sort: "" },
  { id: "cluster", title: "Cluster", sort: "cluster" },
  { id: "created", title: "Age", sort: "created" },
];

/** @type {any} */
let context = null;
/** @type {import("./filters.js").Filter} */
let filter = readFilter(new URLSearchParams());
/** @type {VirtualRows<Row> | null} */
let rows = null;
let ends = new AbortController();
let frame = 0;
/** Key of the row that Tab reaches. */
let current = "";
/** @type {Record<string, any>} */
let parts = {};

/** @param {HTMLElement} root @param {any} given */
export function mount(root, given) {
  context = given;
  ends = new AbortController();
  filter = readFilter(context.route.query);
  parts = { ...buildParts(), root };
  replace(
    root,
    h("div", { class: "section-head" }, h("h2", { id: "objects-title" }, "All objects"), parts.count),
    h(
      "div",
      { class: "toolbar", role: "search", "aria-label": "Filter objects" },
      parts.text,
      parts.ns,
      parts.kind,
      parts.sort,
      parts.states,
      parts.reset,
    ),
    parts.bar,
    parts.grid,
    parts.empty,
  );
  rows = new VirtualRows(parts.body, parts.probe, { keyOf: (row) => row.key, build: buildRow, place });
  ends.signal.addEventListener("abort", context.store.subscribe(schedule));
  document.addEventListener("keydown", onSlash, { signal: ends.signal });
  render();
}

/** @param {any} given */
export function navigate(given) {
  filter = readFilter(given.route.query);
  render();
}

export function unmount() {
  ends.abort();
  rows?.end();
  cancelAnimationFrame(frame);
  frame = 0;
}

function buildParts() {
  const body = h("div", { class: "rows", role: "rowgroup", on: { keydown: onKey, click: onClick, focusin: onFocus } });
  const head = h("div", { class: "row row-head", role: "row", "aria-rowindex": "1" }, COLUMNS.map(buildHead));
  const probe = h("div", { class: "row row-probe", "aria-hidden": "true" });
  return {
    count: h("p", { class: "section-note", role: "status" }),
    text: h("input", {
      type: "search",
      class: "filter-text",
      placeholder: "Name, place, reason …   /",
      "aria-label": "Text",
      spellcheck: "false",
      autocomplete: "off",
      on: { input: (event) => change({ text: event.target.value }) },
    }),
    ns: buildSelect("Namespace", (value) => change({ ns: value })),
    kind: buildSelect("Kind", (value) => change({ kind: value })),
    // Where there is no room for the heads of columns.
    sort: buildSortSelect(),
    states: h("div", { class: "chips", role: "group", "aria-label": "State" }),
    reset: h("button", { type: "button", class: "quiet", hidden: true, on: { click: reset } }, "Clear filters"),
    bar: h("div", { class: "fleet" }),
    head,
    probe,
    body,
    grid: h(
      "div",
      { class: "grid", role: "grid", "aria-labelledby": "objects-title" },
      h("div", { class: "grid-head", role: "rowgroup" }, head),
      probe,
      body,
    ),
    empty: h("div", { class: "notice", hidden: true }),
  };
}

/** @param {string} label @param {(value: string) => void} onValue */
function buildSelect(label, onValue) {
  return h("select", { "aria-label": label, data: { label }, on: { change: (event) => onValue(event.target.value) } });
}

function buildSortSelect() {
  const options = COLUMNS.filter(({ sort }) => sort).map(
    ({ title, sort }) => new Option(`By ${title.toLowerCase()}`, sort),
  );
  const select = buildSelect("Order", (value) => change({ sort: value }));
  select.classList.add("filter-sort");
  select.append(new Option("By namespace", ""), ...options);
  return select;
}

/** @param {typeof COLUMNS[number]} column */
function buildHead(column) {
  const sort = () => {
    const next = filter.sort === column.sort ? `-${column.sort}` : filter.sort === `-${column.sort}` ? "" : column.sort;
    change({ sort: next });
  };
  const title = column.sort
    ? h("button", { type: "button", class: "sort", on: { click: sort } }, column.title)
    : column.title;
  return h("div", { class: `cell cell-${column.id}`, role: "columnheader", data: { sort: column.sort } }, title);
}

/** @param {Partial<import("./filters.js").Filter>} part */
function change(part) {
  filter = { ...filter, ...part };
  context.go(hrefWith("/", toQuery(filter)), { replace: true });
}

function reset() {
  change({ ns: "", kind: "", states: [], text: "" });
  parts.text.focus();
}

function schedule() {
  frame ||= requestAnimationFrame(() => ((frame = 0), render()));
}

function render() {
  const all = context.store.rows;
  const others = passOthers(all.values(), filter);
  const passed = filter.states.length ? others.filter((row) => filter.states.includes(row.phase)) : others;
  const sorted = sortRows(passed, filter.sort);
  parts.root.hidden = !all.size;
  showFilters(all, others);
  showHead();
  parts.grid.setAttribute("aria-rowcount", String(sorted.length + 1));
  parts.grid.hidden = !sorted.length;
  setText(parts.count, describe(sorted.length, all.size));
  parts.empty.hidden = sorted.length > 0;
  if (!parts.empty.hidden) setText(parts.empty, "No object passes these filters.");
  if (!sorted.some((row) => row.key === current)) current = sorted[0]?.key ?? "";
  rows?.show(sorted);
}

/** @param {number} shown @param {number} all */
function describe(shown, all) {
  if (!context.store.loaded) return "";
  return shown === all ? counted(all, "object") : `${grouped(shown)} of ${counted(all, "object")}`;
}

/** @param {Map<string, Row>} all @param {Row[]} others */
function showFilters(all, others) {
  const given = [...all.values()];
  fillSelect(
    parts.ns,
    "All namespaces",
    given.map((row) => row.namespace),
    filter.ns,
  );
  fillSelect(
    parts.kind,
    "All kinds",
    given.map((row) => row.kind),
    filter.kind,
  );
  if (parts.text.value !== filter.text) parts.text.value = filter.text;
  parts.sort.value = filter.sort.replace("-", "");
  parts.reset.hidden = !(filter.ns || filter.kind || filter.text || filter.states.length);
  const counts = Object.fromEntries(PHASES.map((phase) => [phase, 0]));
  for (const row of others) counts[row.phase] = (counts[row.phase] ?? 0) + 1;
  if (!parts.states.firstChild) replace(parts.states, PHASES.map(buildChip));
  for (const chip of parts.states.children) {
    const { phase } = chip.dataset;
    chip.setAttribute("aria-pressed", String(filter.states.includes(phase)));
    chip.classList.toggle("none", !counts[phase]);
    setText(chip.querySelector(".chip-count"), grouped(counts[phase]));
  }
  replace(parts.bar, shareBar(PHASES.map((phase) => ({ tone: toneOf(phase), count: counts[phase] }))));
}

/** @param {string} phase */
function buildChip(phase) {
  const toggle = () => {
    const states = filter.states.includes(phase)
      ? filter.states.filter((each) => each !== phase)
      : [...filter.states, phase];
    change({ states });
  };
  const parts = [stateMark(phase), h("span", { class: "chip-word" }, phase), h("span", { class: "chip-count" }, "0")];
  return h("button", { type: "button", class: "chip", data: { phase }, on: { click: toggle } }, parts);
}

/** @param {HTMLSelectElement} select @param {string} all @param {string[]} values @param {string} chosen */
function fillSelect(select, all, values, chosen) {
  const wanted = [...new Set([...values, ...(chosen ? [chosen] : [])])].filter(Boolean).sort();
  const state = JSON.stringify(wanted);
  if (select.dataset.values !== state) {
    select.dataset.values = state;
    replace(
      select,
      h("option", { value: "" }, all),
      wanted.map((value) => new Option(value, value)),
    );
  }
  select.value = chosen;
  select.classList.toggle("chosen", Boolean(chosen));
}

function showHead() {
  for (const cell of parts.head.children) {
    const { sort } = cell.dataset;
    if (!sort) continue;
    const order = filter.sort === sort ? "ascending" : filter.sort === `-${sort}` ? "descending" : "none";
    cell.setAttribute("aria-sort", order);
  }
}

/** @param {Row} row @returns {HTMLElement} */
function buildRow(row) {
  const now = context.now();
  const cells = {
    state: stateBadge(row.phase),
    name: [
      h("a", { href: objectHref(row.key), tabindex: "-1" }, datum(row.name)),
      row.namespace && h("span", { class: "namespace" }, datum(row.namespace)),
    ],
    kind: datum(row.kind),
    place: [datum(row.cloud, "cloud"), " ", datum(row.place)],
    done: row.total ? buildDone(row) : "–",
    since: ageSince(row.phase === "Deleting" ? (row.deleting_since ?? row.since) : row.since, now),
    reason: datum(row.needs[0]?.what ?? (row.phase === "Ready" ? "" : row.reason), row.needs.length ? "need" : ""),
    cluster: datum(row.cluster),
    created: ageSince(row.created, now),
  };
  return h(
    "div",
    { class: `row tone-${toneOf(row.phase)}`, role: "row", data: { key: row.key } },
    COLUMNS.map(({ id }) => h("div", { class: `cell cell-${id}`, role: "gridcell" }, cells[id])),
  );
}

/** @param {Row} row */
function buildDone(row) {
  const figures = h("span", { class: "figures" }, `${row.done}/${row.total}`);
  if (row.done === row.total) return figures;
  return [
    figures,
    shareBar([
      { tone: toneOf(row.phase), count: row.done },
      { tone: "quiet", count: row.total - row.done },
    ]),
  ];
}

/** @param {HTMLElement} element @param {number} index */
function place(element, index) {
  element.setAttribute("aria-rowindex", String(index + 2));
  element.querySelector("a")?.setAttribute("tabindex", element.dataset.key === current ? "0" : "-1");
}

/** @param {FocusEvent} event */
function onFocus(event) {
  const row = /** @type {HTMLElement} */ (event.target).closest(".row");
  if (row?.dataset.key) setCurrent(row.dataset.key);
}

/** @param {string} key */
function setCurrent(key) {
  current = key;
  for (const row of parts.body.children)
    row.querySelector("a")?.setAttribute("tabindex", row.dataset.key === key ? "0" : "-1");
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (!rows || event.altKey || event.ctrlKey || event.metaKey) return;
  const at = rows.items.findIndex((row) => row.key === current);
  const last = rows.items.length - 1;
  const targets = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + rows.page,
    PageUp: at - rows.page,
    Home: 0,
    End: last,
  };
  if (!Object.hasOwn(targets, event.key)) return;
  event.preventDefault();
  const index = Math.max(0, Math.min(last, targets[event.key]));
  setCurrent(rows.items[index].key);
  rows.reveal(index)?.querySelector("a")?.focus({ preventScroll: true });
}

/** @param {MouseEvent} event */
function onClick(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const row = /** @type {HTMLElement | null} */ (target.closest(".row"));
  if (!row?.dataset.key || target.closest("a") || event.ctrlKey || event.metaKey || String(getSelection())) return;
  context.go(objectHref(row.dataset.key));
}

/** @param {KeyboardEvent} event */
function onSlash(event) {
  const typing = /** @type {HTMLElement} */ (event.target).closest?.("input, select, textarea");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  parts.text.focus();
}
