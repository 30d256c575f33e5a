/** The panel of what is selected: one resource with all that is known of it, or a group and its members. */

import { datum, h } from "./dom.js";
import { dateTime } from "./format.js";
import { ageSince, buildChange, copyable, longText } from "./parts.js";
import { findWaits, ownershipOf, wordOf } from "./resources.js";
import { stateMark, toneOf } from "./states.js";

/** Links that are shown at once; more of them are folded. */
const FEW = 12;
/** Characters of a name within a list. */
const SHORT = 120;
/** Characters of a text that is copied by a button. */
const LONGEST_COPY = 1500;

/**
 * @typedef {import("./graph_model.js").Resource} Resource
 * @typedef {object} Actions
 * @property {(key: string) => void} onSelect
 * @property {() => void} onClose
 * @property {(id: string) => void} [onOpen]  draw the members of the group
 */

/**
 * Build the panel of a resource.
 * @param {Resource} resource @param {Resource[]} all @param {number} now @param {Actions} actions
 * @returns {HTMLElement}
 */
export function buildPanel(resource, all, now, actions) {
  const byKey = new Map(all.map((each) => [each.key, each]));
  const links = (/** @type {string[]} */ keys) => linkList(keys, byKey, actions.onSelect);
  const keysOf = (/** @type {(each: Resource) => boolean} */ wanted) => all.filter(wanted).map((each) => each.key);
  const whose = ownershipOf(resource.ownership);
  const facts = [
    fact("State", stateSince(resource, now), resource.message && longText(resource.message)),
    fact("Id", resource.id ? copyText(resource.id) : "none yet"),
    fact("Whose", datum(whose.word, "whose"), whose.meaning && ` – ${whose.meaning}`),
    fact("Proof", resource.proof ? longText(resource.proof) : "none on record"),
    fact("Changed from outside, and brought back", resource.drift.length > 0 && driftList(resource.drift)),
    fact("Waits for", links(findWaits(resource, all))),
    fact("Waiting for it", links(keysOf((each) => findWaits(each, all).includes(resource.key)))),
    fact("Needs", links(resource.requires)),
    fact("Needed by", links(keysOf((each) => each.requires.includes(resource.key)))),
  ];
  return frame(resource.kind, resource.name, actions.onClose, h("dl", { class: "facts" }, facts));
}

/**
 * Build the panel of a group.
 * @param {import("./graph_model.js").Card} card @param {Actions} actions @returns {HTMLElement}
 */
export function buildGroupPanel(card, actions) {
  const [first] = card.members;
  const members = card.members.map((each) => h("li", null, linkTo(each.key, each, actions.onSelect)));
  const open = h(
    "button",
    { type: "button", class: "button", on: { click: () => actions.onOpen?.(card.id) } },
    "Draw each in the graph",
  );
  return frame(
    `${card.members.length} × ${first.kind}`,
    "alike: they need the same kinds and belong to the same owner",
    actions.onClose,
    open,
    h("ul", { class: "links" }, members),
  );
}

/** @param {string} kind @param {string} name @param {() => void} close @param {...import("./dom.js").Child} body */
function frame(kind, name, close, ...body) {
  const title = h(
    "h3",
    { tabindex: "-1", id: "panel-title" },
    datum(clip(kind), "panel-kind"),
    " ",
    datum(clip(name, 240), "panel-name"),
  );
  const button = h(
    "button",
    { type: "button", class: "button panel-close", "aria-label": "Close the details", on: { click: close } },
    "Close",
  );
  return h("aside", { class: "panel", "aria-labelledby": "panel-title" }, h("header", null, title, button), ...body);
}

/** @param {string} name @param {...import("./dom.js").Child} values  nothing is shown where none of them is there */
function fact(name, ...values) {
  return values.some(Boolean) && h("div", { class: "fact" }, h("dt", null, name), h("dd", null, ...values));
}

/** @param {Resource} resource @param {number} now @returns {HTMLElement} mark and word, since when, and the reason */
export function stateSince(resource, now) {
  const reason = resource.reason && resource.reason !== resource.state;
  return h(
    "span",
    { class: "state-since" },
    stateWord(resource.state),
    resource.since !== null && h("span", { class: "muted" }, " for ", ageSince(resource.since, now)),
    reason && h("span", { class: "muted" }, " · ", datum(clip(resource.reason))),
  );
}

/** @param {string} state @returns {HTMLElement} */
export function stateWord(state) {
  return h("span", { class: `state tone-${toneOf(state)}` }, stateMark(state), datum(clip(wordOf(state))));
}

/** @param {import("./graph_model.js").Drift[]} drift @returns {HTMLElement} what was changed from outside, and how */
export function driftList(drift) {
  const items = drift.map(({ field, before, after, at }) =>
    h(
      "li",
      null,
      h(
        "p",
        { class: "drift-field" },
        datum(clip(field)),
        h("span", { class: "muted" }, at === null ? "" : ` ${dateTime(at)}`),
      ),
      h("p", { class: "drift-change" }, buildChange(before, after)),
    ),
  );
  return h("ul", { class: "drift" }, items);
}

/** @param {string[]} keys @param {Map<string, Resource>} byKey @param {(key: string) => void} select */
function linkList(keys, byKey, select) {
  if (!keys.length) return null;
  const items = keys.map((key) => h("li", null, linkTo(key, byKey.get(key), select)));
  const rest = items.splice(FEW);
  const list = h("ul", { class: "links" }, items);
  return rest.length
    ? [list, h("details", null, h("summary", null, `${rest.length} more`), h("ul", { class: "links" }, rest))]
    : list;
}

/** @param {string} key @param {Resource | undefined} resource @param {(key: string) => void} select */
function linkTo(key, resource, select) {
  if (!resource) return datum(clip(key));
  const { kind, name, state } = resource;
  return h(
    "button",
    { type: "button", class: "link", on: { click: () => select(key) } },
    stateMark(state),
    h("span", { class: "sr-only" }, `${wordOf(state)}: `),
    h("span", { class: "link-text" }, datum(clip(kind), "muted"), " ", datum(clip(name))),
  );
}

/** @param {string} text @returns {HTMLElement} the text with a button that copies it; folded, where no person would */
export function copyText(text) {
  return text.length > LONGEST_COPY ? longText(text) : copyable(text);
}

/** @param {string} text @param {number} [most] @returns {string} the text, cut in its middle if it is long */
export function clip(text, most = SHORT) {
  return text.length <= most ? text : `${text.slice(0, most / 2)}…${text.slice(-most / 4)}`;
}
