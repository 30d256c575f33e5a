/** "What needs somebody": one card for each cause, the most urgent first; an honest sentence where there is none. */

import { arrange, h, replace, setText } from "./dom.js";
import { clockTime, counted, grouped } from "./format.js";
import { ageSince, copyable, longText, notice, objectLink } from "./parts.js";
import { PHASES, shapeMark } from "./states.js";

/** @typedef {import("./store.js").Row} Row @typedef {import("./store.js").Need} Need */

/** Urgencies, the most urgent first. */
export const URGENCIES = {
  credentials: { word: "No credentials", shape: "key", tone: "blocked" },
  conflict: { word: "Conflict", shape: "unequal", tone: "blocked" },
  blocked: { word: "Blocked", shape: "stop", tone: "blocked" },
  "stuck-delete": { word: "Delete is stuck", shape: "minus", tone: "deleting" },
  paused: { word: "Paused", shape: "bars", tone: "paused" },
};
const ORDER = Object.keys(URGENCIES);
/** Cards shown before "Show all", and objects named in one card. */
const FEW = 6;
const NAMED = 100;

/**
 * @typedef {object} Cause  What one or more rows need in the same words.
 * @property {string} id
 * @property {Need} need  that of the row which has had it for longest
 * @property {string[]} whats  needs of the same rows that ask for the same to be done
 * @property {Row[]} rows
 * @property {number} since  of the oldest; Infinity: not known
 */

/** @type {any} */
let context = null;
let end = () => {};
let frame = 0;
let showsAll = false;
let lastCount = -1;
/** @type {Record<string, HTMLElement>} */
let parts = {};
/**
 * Cards by cause: a card whose content is the same keeps its element, and so its focus.
 * @type {Map<string, {content: string, card: HTMLElement}>}
 */
let cards = new Map();

/** @param {HTMLElement} root @param {any} given */
export function mount(root, given) {
  context = given;
  parts = {
    title: h("h1", { id: "attention-title" }, "What needs somebody"),
    count: h("p", { class: "section-note" }),
    cards: h("ol", { class: "cards" }),
    where: h("p", { class: "section-note" }),
    more: h("button", { type: "button", class: "button", hidden: true, on: { click: showAll } }),
    empty: h("div", null),
  };
  replace(
    root,
    h("div", { class: "section-head" }, parts.title, parts.count),
    parts.empty,
    parts.cards,
    parts.more,
    parts.where,
  );
  end = context.store.subscribe(schedule);
  render();
}

export function unmount() {
  end();
  cancelAnimationFrame(frame);
  frame = 0;
  cards = new Map();
  lastCount = -1;
}

function schedule() {
  frame ||= requestAnimationFrame(() => ((frame = 0), render()));
}

function showAll() {
  showsAll = !showsAll;
  render();
}

function render() {
  const { store } = context;
  const causes = findCauses([...store.rows.values()]);
  const objects = new Set(causes.flatMap((cause) => cause.rows.map((row) => row.key))).size;
  const shown = showsAll ? causes : causes.slice(0, FEW);
  arrange(parts.cards, shown.map(cardOf));
  forget(causes);
  parts.cards.hidden = !causes.length;
  parts.more.hidden = causes.length <= FEW;
  setText(parts.more, showsAll ? "Show fewer" : `Show all ${grouped(causes.length)}`);
  setText(parts.count, causes.length ? describe(objects, causes.length) : "");
  setText(parts.where, causes.length ? (context.session.info?.where ?? "") : "");
  parts.empty.hidden = causes.length > 0;
  if (!causes.length) replace(parts.empty, store.loaded ? buildCalm() : notice("Reading the objects …"));
  announce(objects);
}

/** @param {number} objects @param {number} causes */
function describe(objects, causes) {
  const shared = causes < objects ? `, ${counted(causes, "cause")}` : "";
  return `${counted(objects, "object")}${shared}`;
}

/**
 * Group needs that say the same.
 * @param {Row[]} rows
 * @returns {Cause[]}
 */
export function findCauses(rows) {
  /** @type {Map<string, Cause>} */
  const causes = new Map();
  for (const row of rows) {
    for (const need of row.needs) {
      const id = JSON.stringify([need.urgency, need.what, need.do]);
      const cause = causes.get(id) ?? { id, need, whats: [need.what], rows: [], since: Infinity };
      const since = need.since ?? Infinity;
      if (since < cause.since) Object.assign(cause, { since, need });
      cause.rows.push(row);
      causes.set(id, cause);
    }
  }
  const rank = (/** @type {Cause} */ cause) => ORDER.indexOf(cause.need.urgency);
  return joinCauses([...causes.values()]).sort(
    (a, b) => rank(a) - rank(b) || compare(a.since, b.since) || compare(a.id, b.id),
  );
}

/**
 * Join causes of the same rows that ask for the same.
 * @param {Cause[]} causes
 * @returns {Cause[]}
 */
function joinCauses(causes) {
  /** @type {Map<string, Cause>} */
  const joined = new Map();
  for (const cause of causes) {
    const { urgency, do: todo, command } = cause.need;
    const id = JSON.stringify([urgency, todo, command, cause.rows.map((row) => row.key)]);
    const first = joined.get(id);
    if (!first) joined.set(id, cause);
    else Object.assign(first, { whats: [...first.whats, ...cause.whats], since: Math.min(first.since, cause.since) });
  }
  return [...joined.values()];
}

/** @param {number | string} a @param {number | string} b */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @param {Cause} cause @returns {HTMLElement} */
function cardOf(cause) {
  const content = JSON.stringify([cause.whats, cause.need.command, cause.since, cause.rows.map((row) => row.key)]);
  const known = cards.get(cause.id);
  if (known?.content === content) return known.card;
  const card = buildCard(cause);
  cards.set(cause.id, { content, card });
  return card;
}

/** @param {Cause[]} causes */
function forget(causes) {
  const kept = new Set(causes.map((cause) => cause.id));
  for (const id of cards.keys()) if (!kept.has(id)) cards.delete(id);
}

/** @param {Cause} cause @returns {HTMLElement} */
function buildCard(cause) {
  const { need, rows } = cause;
  const { word, shape, tone } = URGENCIES[need.urgency] ?? { word: need.urgency, shape: "dot", tone: "quiet" };
  const since = Number.isFinite(cause.since) ? cause.since : null;
  const others = rows.slice(1);
  return h(
    "li",
    { class: `card tone-${tone}` },
    h(
      "div",
      { class: "card-state" },
      h("span", { class: `state tone-${tone}` }, shapeMark(shape, tone), word),
      h("span", { class: "card-age" }, since === null ? "" : ["for ", ageSince(since, context.now())]),
    ),
    h(
      "div",
      { class: "card-what" },
      h("h2", null, objectLink(rows[0].key)),
      cause.whats.map((what) => longText(what)),
      others.length > 0 && buildOthers(others),
    ),
    h("div", { class: "card-do" }, need.do ? longText(need.do) : null, need.command ? copyable(need.command) : null),
  );
}

/** @param {Row[]} others @returns {HTMLElement} */
function buildOthers(others) {
  const links = others.slice(0, NAMED).map((row) => h("li", null, objectLink(row.key)));
  const rest = others.length - links.length;
  return h(
    "details",
    { class: "others" },
    h("summary", null, `The same for ${counted(others.length, "other object")}`),
    h("ul", null, links, rest > 0 && h("li", null, `and ${grouped(rest)} more`)),
  );
}

/** What is said where nobody has to act: only of what was seen. @returns {HTMLElement} */
function buildCalm() {
  const { store, session } = context;
  const rows = [...store.rows.values()];
  const where = session.info?.everywhere === false ? " in the namespaces that you may see" : "";
  if (!rows.length) {
    return notice(
      `There are no objects${where}`,
      h("p", null, "An object appears here as soon as it is applied:"),
      copyable("freehold up -f FILE"),
    );
  }
  const counts = PHASES.map((phase) => [phase, rows.filter((row) => row.phase === phase).length]);
  const told = counts
    .filter(([, count]) => count)
    .map(([phase, count]) => `${grouped(Number(count))} ${String(phase).toLowerCase()}`);
  return h(
    "div",
    { class: "calm" },
    shapeMark("check", "ready"),
    h(
      "p",
      null,
      h("strong", null, "Nobody has to act."),
      ` ${counted(rows.length, "object")}${where}: ${told.join(", ")}.`,
    ),
  );
}

/** @param {number} objects */
function announce(objects) {
  if (!context.store.loaded || objects === lastCount) return;
  if (lastCount >= 0 || objects)
    context.announce(`${counted(objects, "object")} ${objects === 1 ? "needs" : "need"} somebody`);
  lastCount = objects;
}
