/** The head of an object's view: what it is, how it is, and what somebody must do. */

import { URGENCIES } from "./attention.js";
import { datum, h } from "./dom.js";
import { dateTime } from "./format.js";
import { ageSince, longText } from "./parts.js";
import { clip, copyText, stateWord } from "./resource_panel.js";
import { objectHref } from "./route.js";
import { shapeMark } from "./states.js";

const OTHER = { word: "Needs somebody", shape: "dot", tone: "quiet" };

/**
 * Build name, phase and the links between the parts of the view.
 * @param {string} key @param {import("./store.js").Row | undefined} row @param {string} tab @param {number} now
 */
export function buildTitle(key, row, tab, now) {
  const [kind, namespace, ...name] = key.split("/");
  const link = (/** @type {"" | "deletion"} */ to, /** @type {string} */ word) =>
    h("a", { href: objectHref(key, to), "aria-current": tab === to && "page" }, word);
  return [
    h(
      "p",
      { class: "crumbs" },
      h("a", { href: "#/" }, "Objects"),
      h("span", { "aria-hidden": "true" }, " / "),
      datum(kind),
    ),
    h(
      "h1",
      { tabindex: "-1" },
      h("span", { class: "title-namespace" }, namespace && [datum(namespace), "/"]),
      datum(name.join("/")),
    ),
    row &&
      h(
        "p",
        { class: "phase" },
        stateWord(row.phase),
        row.since !== null && h("span", { class: "muted" }, " for ", ageSince(row.since, now)),
        row.reason && row.reason !== row.phase && h("span", { class: "muted" }, " · ", datum(clip(row.reason))),
        row.deleting_since !== null &&
          row.phase !== "Deleting" &&
          h("span", null, " · its deletion was requested ", ageSince(row.deleting_since, now), " ago"),
      ),
    h(
      "nav",
      { class: "tabs", "aria-label": "Parts of this object" },
      link("", "Resources"),
      link("deletion", "Before a delete"),
      h("a", { href: auditHref(key) }, "Audit"),
    ),
  ];
}

/** @param {import("./store.js").Need[]} needs @param {string} where @param {number} now */
export function buildNeeds(needs, where, now) {
  if (!needs.length) return null;
  return h(
    "section",
    { class: "needs", "aria-label": "Needs somebody" },
    needs.map((need) => buildNeed(need, now)),
    where && needs.some((need) => need.command) && h("p", { class: "muted" }, datum(where)),
  );
}

/** @param {import("./store.js").Need} need @param {number} now */
function buildNeed(need, now) {
  const { word, shape, tone } = URGENCIES[need.urgency] ?? OTHER;
  return h(
    "div",
    { class: `object-need tone-${tone}` },
    h(
      "p",
      { class: "need-head" },
      h("strong", { class: "state" }, shapeMark(shape, tone), word),
      need.since !== null && h("span", { class: "muted" }, " for ", ageSince(need.since, now)),
    ),
    longText(need.what),
    need.do && longText(need.do),
    need.command && copyText(need.command),
  );
}

/**
 * Build the facts, the notes and the conditions.
 * @param {any} detail @param {number} now
 */
export function buildFacts(detail, now) {
  const { row } = detail;
  const fact = (/** @type {string} */ name, /** @type {import("./dom.js").Child} */ value) =>
    value && h("div", { class: "fact" }, h("dt", null, name), h("dd", null, value));
  const facts = [
    fact("Resources", row.total > 0 && `${row.done} of ${row.total} ${row.phase === "Deleting" ? "gone" : "ready"}`),
    fact("Endpoint", detail.endpoint && copyText(detail.endpoint)),
    fact("Account", detail.account && datum(clip(detail.account))),
    fact("Place", row.place && datum(clip(`${row.cloud && `${row.cloud}, `}${row.place}`))),
    fact("Created", row.created !== null && h("span", null, dateTime(row.created))),
    fact("Owner uuid", detail.owner && datum(clip(detail.owner), "mono")),
  ];
  return [
    h("dl", { class: "facts object-facts" }, facts),
    detail.notes.length > 0 &&
      h(
        "ul",
        { class: "notes" },
        detail.notes.map((/** @type {string} */ note) => h("li", null, longText(note))),
      ),
    detail.conditions.length > 0 && buildConditions(detail.conditions, now),
  ];
}

/**
 * @param {{type: string, status: string, reason: string, message: string, since: number | null}[]} conditions
 * @param {number} now
 */
function buildConditions(conditions, now) {
  const rows = conditions.map(({ type, status, reason, message, since }) =>
    h(
      "tr",
      { role: "row" },
      h("th", { scope: "row", role: "rowheader" }, datum(clip(type))),
      h("td", { role: "cell" }, datum(clip(status))),
      h("td", { role: "cell" }, datum(clip(reason)), message && longText(message)),
      h("td", { role: "cell" }, ageSince(since, now)),
    ),
  );
  const heads = ["Condition", "Status", "Reason and message", "For"].map((head) =>
    h("th", { scope: "col", role: "columnheader" }, head),
  );
  const table = h(
    "table",
    { class: "conditions", role: "table" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)),
    h("tbody", { role: "rowgroup" }, rows),
  );
  return h("details", { class: "conditions-fold" }, h("summary", null, `Conditions (${conditions.length})`), table);
}

/** @param {string} key @param {number} at */
export function buildGone(key, at) {
  const [kind, namespace, ...name] = key.split("/");
  const title = `${kind} ${namespace && `${namespace}/`}${name.join("/")}`;
  return h(
    "p",
    { class: "gone-note", role: "status" },
    datum(title),
    ` has gone, or you may no longer see it, since ${dateTime(at)}. Below is what was last known; `,
    h("a", { href: auditHref(key) }, "the audit has what was done"),
    ".",
  );
}

/** @param {string} key @returns {string} */
function auditHref(key) {
  return `#/audit?object=${encodeURIComponent(key)}`;
}
