/** One card of the graph: a resource, or several that are alike. */

import { plain, replace, svg } from "./dom.js";
import { age } from "./format.js";
import { countStates, gravest, ownershipOf, wordOf } from "./resources.js";
import { stateMark, toneOf } from "./states.js";
import { fitText, measureText } from "./text_fit.js";

/** Size of a card in px, where a character is 16 px high. */
export const CARD = { width: 232, height: 66, gap: 18 };

/**
 * @typedef {object} Setting  What all cards are drawn by.
 * @property {number} unit  px of the screen in one of `CARD`
 * @property {string} prefix  what names begin with, and need not say again
 * @property {string} sans  family of fonts
 * @property {string} mono
 */

/**
 * Draw the card anew into its group.
 * @param {SVGElement} group @param {import("./graph_model.js").Card} card @param {number} now @param {Setting} setting
 */
export function drawCard(group, card, now, setting) {
  const several = card.members.length > 1;
  const state = gravest(card.members.map((each) => each.state));
  const { width, height } = scaled(setting.unit);
  group.setAttribute("class", `card tone-${toneOf(state)}${several ? " card-several" : ""}`);
  group.setAttribute("aria-label", describeCard(card, now));
  replace(
    group,
    svg("title", null, card.members.length > 1 ? describeCard(card, now) : card.members[0].name),
    several && svg("rect", { class: "card-behind", x: 5, y: 5, width, height, rx: 7 }),
    svg("rect", { class: "card-frame", width, height, rx: 7 }),
    svg("path", { class: "card-edge", d: `M6 0H7V${height}H6A6 6 0 0 1 0 ${height - 6}V6A6 6 0 0 1 6 0Z` }),
    placeMark(state, setting.unit),
    several ? groupTexts(card, setting) : resourceTexts(card.members[0], now, setting),
    svg("rect", { class: "card-focus", x: -4, y: -4, width: width + 8, height: height + 8, rx: 10 }),
  );
}

/** @param {string} state @param {number} unit */
function placeMark(state, unit) {
  const mark = stateMark(state);
  const box = { x: 14, y: 8, width: 15, height: 15 };
  for (const [name, value] of Object.entries(box)) mark.setAttribute(name, String(value * unit));
  return mark;
}

/** @param {number} unit @returns {{width: number, height: number, gap: number}} */
export function scaled(unit) {
  return { width: CARD.width * unit, height: CARD.height * unit, gap: CARD.gap * unit };
}

/**
 * Say the card in a sentence, for who does not see it.
 * @param {import("./graph_model.js").Card} card @param {number} now @returns {string}
 */
export function describeCard({ members }, now) {
  const [first] = members;
  if (members.length > 1) return `${members.length} × ${first.kind}: ${sayCounts(members)}`;
  const since = first.since === null ? "" : ` for ${age(now - first.since)}`;
  const drift = first.drift.length ? ", drifted" : "";
  const waits = first.waits_for.length ? `, waits for ${first.waits_for.slice(0, 3).join(", ")}` : "";
  return `${first.kind} ${first.name}: ${wordOf(first.state)}${since}, ${ownershipOf(first.ownership).word}${drift}${waits}`;
}

/** @param {import("./graph_model.js").Resource[]} members @returns {string} such as "1 Blocked, 70 Ready" */
export function sayCounts(members) {
  return countStates(members.map((each) => each.state))
    .map(([state, count]) => `${count} ${wordOf(state)}`)
    .join(", ");
}

/** @param {import("./graph_model.js").Resource} resource @param {number} now @param {Setting} setting */
function resourceTexts(resource, now, setting) {
  const since = resource.since === null ? "" : ` ${age(now - resource.since)}`;
  const drift = resource.drift.length ? "drift · " : "";
  const whose = drift + ownershipOf(resource.ownership).word;
  const name = resource.name.startsWith(setting.prefix) ? `…${resource.name.slice(setting.prefix.length)}` : resource.name;
  const kind = fitText(resource.kind, 140 * setting.unit, font(11, setting));
  const left = 14 + measureText(kind, font(11, setting)) / setting.unit + 7;
  return [
    text(wordOf(resource.state) + since, 34, 20, 11, "card-state", 190 - measureText(whose, font(11, setting)) / setting.unit, setting),
    text(whose, CARD.width - 10, 20, 11, `card-whose${resource.drift.length ? " card-drift" : ""}`, 100, setting),
    text(name, 14, 39, 13, "card-name", CARD.width - 24, setting),
    text(kind, 14, 56, 11, "card-kind", 150, setting),
    text(resource.id || "no id yet", left, 56, 10.5, "card-id", CARD.width - 10 - left, setting),
  ];
}

/** @param {import("./graph_model.js").Card} card @param {Setting} setting */
function groupTexts({ members }, setting) {
  const [first] = members;
  const drifted = members.filter((each) => each.drift.length).length;
  return [
    text(sayCounts(members), 34, 20, 11, "card-state", CARD.width - 44, setting),
    text(`${members.length} × ${first.kind}`, 14, 39, 13, "card-name", CARD.width - 24, setting),
    text(`alike, ${ownershipOf(first.ownership).word}${drifted ? ` · ${drifted} drifted` : ""}`, 14, 56, 11, "card-kind", 200, setting),
  ];
}

/**
 * @param {string} value @param {number} x @param {number} y @param {number} size @param {string} name  its class
 * @param {number} room @param {Setting} setting
 */
function text(value, x, y, size, name, room, setting) {
  const { unit } = setting;
  const fitted = fitText(value, room * unit, font(size, setting, name));
  return svg("text", { class: name, x: x * unit, y: y * unit, "font-size": size * unit }, plain(fitted));
}

/** @param {number} size @param {Setting} setting @param {string} [name]  the class of the text */
function font(size, { unit, sans, mono }, name = "") {
  return `${name === "card-name" ? 600 : 400} ${size * unit}px ${name === "card-id" ? mono : sans}`;
}
