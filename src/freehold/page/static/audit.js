/** Audit: who changed what, from which value to which, and whether the log of it is whole. */

import { joinRequests } from "./audit_pairs.js";
import { h, replace, setText } from "./dom.js";
import { clockTime, counted, day, grouped } from "./format.js";
import { buildChange, longText, notice, objectLink, shortText, showProblem } from "./parts.js";
import { Refresher } from "./refresh.js";
import { hrefWith } from "./route.js";
import { shapeMark } from "./states.js";

/**
 * @typedef {{resource: string, tag: string, before: string | null, after: string | null}} TagChange
 *
 * @typedef {object} Line
 * @property {number | null} time
 * @property {string} object  "Kind namespace/name"
 * @property {string} [key]
 * @property {string} call
 * @property {string} resource
 * @property {string} outcome
 * @property {string} by
 * @property {string} reason
 * @property {TagChange[]} changes
 * @property {number} [more_changes]
 *
 * @typedef {{verified: boolean | null, lines: number, unsealed?: number, wrong?: number, problems: string[]}} Chain
 *
 * @typedef {object} Page
 * @property {boolean} available
 * @property {string} why
 * @property {Line[]} lines
 * @property {string | null} next
 * @property {number} [searched]
 * @property {Chain} chain
 */

/** How outcomes look; any other one is a refusal or an error of the cloud. */
const OUTCOMES = /** @type {Record<string, [import("./states.js").Shape, import("./states.js").Tone]>} */ ({
  done: ["check", "ready"],
  collected: ["check", "ready"],
  decided: ["check", "ready"],
  changes: ["dot", "moving"],
  sent: ["question", "moving"],
  kept: ["dot", "paused"],
  "not decided": ["bars", "paused"],
  unknown: ["question", "quiet"],
  unreadable: ["question", "quiet"],
});
/** Milliseconds without a key before a text is searched. */
const TYPING = 300;
/** Changes of one line that are shown before "Show all". */
const FEW = 6;

/** @type {any} */
let context = null;
let ends = new AbortController();
let reading = new AbortController();
/** @type {Refresher | null} */
let refresher = null;
let typing = 0;
/** @type {{lines: Line[], next: string | null, pages: number}} */
let log = { lines: [], next: null, pages: 0 };
/** @type {Record<string, any>} */
let parts = {};

/** @param {HTMLElement} root @param {any} given */
export async function mount(root, given) {
  context = given;
  ends = new AbortController();
  parts = {
    chain: h("div", { class: "chain" }),
    text: h("input", {
      type: "search",
      class: "filter-text",
      placeholder: "Resource, call, tag, value, person …",
      "aria-label": "Text",
      spellcheck: "false",
      autocomplete: "off",
      on: { input: onInput },
    }),
    object: h("div", { class: "filter-object" }),
    newer: h(
      "button",
      { type: "button", class: "button newer", hidden: true, on: { click: () => void begin() } },
      "Show newer lines",
    ),
    body: h("div", { class: "log" }),
    older: h(
      "button",
      { type: "button", class: "button", hidden: true, on: { click: () => void readOlder() } },
      "Older lines",
    ),
    end: h("p", { class: "muted log-end" }),
  };
  replace(
    root,
    h(
      "div",
      { class: "section-head" },
      h("h1", null, "Audit"),
      h(
        "p",
        { class: "section-note" },
        "Each request that changed the cloud, and each decision of a person; the newest first",
      ),
    ),
    parts.chain,
    h("div", { class: "toolbar", role: "search", "aria-label": "Filter the log" }, parts.text, parts.object),
    parts.newer,
    parts.body,
    h("div", { class: "log-foot" }, parts.older, parts.end),
  );
  refresher = new Refresher(() => void refresh());
  ends.signal.addEventListener(
    "abort",
    context.store.subscribe(() => refresher?.soon()),
  );
  showFilters();
  replace(parts.body, notice("Reading the log …"));
  await begin();
}

/** @param {any} given */
export async function navigate(given) {
  context = given;
  showFilters();
  await begin();
}

export function unmount() {
  ends.abort();
  reading.abort();
  clearTimeout(typing);
  refresher?.end();
}

function onInput() {
  clearTimeout(typing);
  typing = setTimeout(() => filterBy({ q: parts.text.value.trim() }), TYPING);
}

/** @param {Record<string, string>} part */
function filterBy(part) {
  const { query } = context.route;
  context.go(hrefWith("/audit", { object: query.get("object") ?? "", q: query.get("q") ?? "", ...part }), {
    replace: true,
  });
}

function showFilters() {
  const { query } = context.route;
  const object = query.get("object") ?? "";
  const text = query.get("q") ?? "";
  if (parts.text.value.trim() !== text) parts.text.value = text;
  const clear = h(
    "button",
    { type: "button", class: "quiet", on: { click: () => filterBy({ object: "" }) } },
    "Show all objects",
  );
  replace(parts.object, object && [h("span", { class: "muted" }, "Only "), objectLink(object), " ", clear]);
}

/** @param {string} before @param {AbortSignal} signal @returns {Promise<Page>} */
function readPage(before, signal) {
  const { query } = context.route;
  const asked = hrefWith("/api/audit", { before, object: query.get("object") ?? "", text: query.get("q") ?? "" });
  return context.api.get(asked.slice(1), signal);
}

/** Read the newest page, in the place of all that is shown. */
async function begin() {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  try {
    const page = await readPage("", signal);
    log = { lines: page.lines, next: page.next, pages: 1 };
    show(page);
  } catch (error) {
    if (!signal.aborted) showProblem(parts.body, error, () => void begin());
  }
}

async function readOlder() {
  const { signal } = reading;
  if (!log.next) return;
  parts.older.disabled = true;
  try {
    const page = await readPage(log.next, signal);
    if (!page.lines.length && !page.next && page.why) return setText(parts.end, page.why);
    log = { lines: [...log.lines, ...page.lines], next: page.next, pages: log.pages + 1 };
    show(page);
    context.announce(`${counted(page.lines.length, "older line")} shown`);
  } catch (error) {
    if (!signal.aborted) setText(parts.end, `${error.message} Try again.`);
  } finally {
    parts.older.disabled = false;
  }
}

/** Read the newest page again: shown at once where nothing older is on the page, else offered. */
async function refresh() {
  const { signal } = reading;
  try {
    const page = await readPage("", signal);
    showChain(page);
    if (JSON.stringify(page.lines[0]) === JSON.stringify(log.lines[0])) return;
    if (log.pages > 1 || scrollY > 200) {
      parts.newer.hidden = false;
      return;
    }
    log = { lines: page.lines, next: page.next, pages: 1 };
    show(page);
  } catch {
    // What is shown stays; a lost connection is told by the frame.
  }
}

/** @param {Page} page */
function show(page) {
  showChain(page);
  parts.newer.hidden = log.pages > 1 ? parts.newer.hidden : true;
  parts.older.hidden = !log.next;
  setText(parts.end, describeEnd(page));
  if (!page.available) return replace(parts.body, notice("There is no audit log to read", longText(page.why)));
  if (!log.lines.length)
    return replace(
      parts.body,
      notice(log.next ? "No line fits so far" : "No line fits", page.why && longText(page.why)),
    );
  replace(parts.body, buildDays(joinRequests(log.lines)));
}

/** @param {Page} page */
function describeEnd(page) {
  if (!page.available) return "";
  const searched =
    page.searched && page.searched > page.lines.length ? `, of ${grouped(page.searched)} looked at last` : "";
  return `${counted(log.lines.length, "line")}${searched}${log.next ? "" : ": to the beginning of the log"}`;
}

/** @param {Page} page */
function showChain({ chain, available }) {
  parts.chain.hidden = !available;
  const lines = counted(chain.lines, "line");
  const unsealed = chain.unsealed ? `; ${grouped(chain.unsealed)} of them from before it was sealed` : "";
  const [shape, tone, title, text] =
    chain.verified === true
      ? /** @type {const} */ ([
          "check",
          "ready",
          "Chain verified",
          `${lines}: none was changed, taken out or added${unsealed}.`,
        ])
      : chain.verified === false
        ? /** @type {const} */ ([
            "stop",
            "blocked",
            "Chain broken",
            `${counted(chain.wrong ?? chain.problems.length, "place")} where the log was changed, cut or added to.`,
          ])
        : /** @type {const} */ ([
            "question",
            "quiet",
            "Chain not verified",
            chain.lines ? `${lines} checked so far.` : "There is no line to check yet.",
          ]);
  parts.chain.className = `chain tone-${tone}`;
  const state = JSON.stringify([title, text, chain.problems]);
  if (parts.chain.dataset.shown === state) return;
  parts.chain.dataset.shown = state;
  replace(
    parts.chain,
    h("p", null, h("span", { class: `state tone-${tone}` }, shapeMark(shape, tone), title), " ", text),
    chain.problems.length > 0 &&
      h(
        "ul",
        null,
        chain.problems.map((problem) => h("li", null, longText(problem))),
      ),
  );
}

/** @param {Line & {sent?: number | null}} line */
function buildTime({ time, sent }) {
  if (time === null) return h("span", { class: "log-time" }, "–");
  const took = sent ? `sent at ${clockTime(sent)}` : null;
  return h("time", { class: "log-time", datetime: new Date(time * 1000).toISOString(), title: took }, clockTime(time));
}

/** @param {Line[]} lines @returns {HTMLElement[]} */
function buildDays(lines) {
  /** @type {Map<string, Line[]>} */
  const days = new Map();
  let last = "";
  for (const line of lines) {
    if (line.time !== null) last = day(line.time);
    days.set(last, [...(days.get(last) ?? []), line]);
  }
  return [...days].map(([date, given]) =>
    h(
      "section",
      { class: "log-day" },
      h("h2", null, date || "Time not known"),
      h("ol", { class: "panel log-lines" }, given.map(buildLine)),
    ),
  );
}

/** @param {Line} line */
function buildLine(line) {
  const [shape, tone] = Object.hasOwn(OUTCOMES, line.outcome)
    ? OUTCOMES[line.outcome]
    : /** @type {const} */ (["stop", "blocked"]);
  const key = line.key ?? line.object.replace(" ", "/");
  return h(
    "li",
    { class: "log-line" },
    buildTime(line),
    h("span", { class: `log-outcome state tone-${tone}` }, shapeMark(shape, tone), shortText(line.outcome)),
    h("span", { class: "log-object" }, key && [objectLink(key), onlyThis(key)]),
    h(
      "span",
      { class: "log-call" },
      shortText(line.call, "mono"),
      line.call && line.resource && " ",
      shortText(line.resource),
    ),
    h("span", { class: "log-by" }, h("span", { class: "muted" }, "by "), shortText(line.by)),
    (line.outcome === "sent" || line.reason || line.changes.length > 0) &&
      h(
        "div",
        { class: "log-more" },
        line.outcome === "sent" && h("p", { class: "muted" }, "Its outcome is not in the log."),
        line.reason && longText(line.reason, `tone-${tone}`),
        buildChanges(line),
      ),
  );
}

/** @param {string} key */
function onlyThis(key) {
  const current = context.route.query.get("object") === key;
  return current
    ? null
    : [
        " ",
        h(
          "a",
          {
            class: "only",
            href: hrefWith("/audit", { object: key }),
            "aria-label": `Only lines of ${key.slice(0, 200)}`,
          },
          "only",
        ),
      ];
}

/** @param {Line} line */
function buildChanges(line) {
  if (!line.changes.length) return null;
  const items = line.changes.map((change, index) =>
    h(
      "li",
      { hidden: index >= FEW },
      change.resource !== line.resource && [shortText(change.resource, "mono muted"), " "],
      shortText(change.tag, "change-tag"),
      ": ",
      buildChange(change.before, change.after),
    ),
  );
  const rest = line.changes.length - FEW;
  const more = h(
    "button",
    {
      type: "button",
      class: "quiet",
      on: { click: () => (items.forEach((item) => (item.hidden = false)), more.remove()) },
    },
    `Show ${grouped(rest)} more`,
  );
  const unlisted = line.more_changes
    ? h("li", { class: "muted" }, `and ${grouped(line.more_changes)} more in the log itself`)
    : null;
  return [h("ul", { class: "changes" }, items, unlisted), rest > 0 && more];
}
