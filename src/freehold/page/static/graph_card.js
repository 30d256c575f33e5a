/** One card of the graph: a resource, or several that are alike. */

import { replace, svg } from "./dom.js";
import { age } from "./format.js";
import { countStates, gravest, ownershipOf, sayDrift, wordOf } from "./resources.js";
import { stateMark, toneOf } from "./states.js";
import { fitText, measureText } from "./text_fit.js";

/** Size of a card in px, where a character is 16 px high. */
export const CARD = { width: 240, height: 66, gap: 18 };

/**
 * @typedef {object} Setting  What all cards are drawn by.
 * @property {number} unit  px of the screen in one of `CARD`
 * @property {string} prefix  what names begin with, and need not say again
 * @property {string} sans  family of fonts
 * @property {string} mono
 */

/**
 * Draw the card anew into its group. What it says is also its name for who does not see it: kind and name come first.
 * @param {SVGElement} group @param {import("./graph_model.js").Card} card @param {number} now @param {Setting} setting
 */
export function drawCard(group, card, now, setting) {
  const several = card.members.length > 1;
  const state = gravest(card.members.map((each) => each.state));
  const { width, height } = scaled(setting.unit);
  group.setAttribute("class", `node tone-${toneOf(state)}${several ? " node-several" : ""} is-${classOf(state)}`);
  replace(
    group,
    several && svg("rect", { class: "node-behind", x: 5, y: 5, width, height, rx: 7 }),
    svg("rect", { class: "node-frame", width, height, rx: 7 }),
    svg("path", { class: "node-edge", d: `M6 0H7V${height}H6A6 6 0 0 1 0 ${height - 6}V6A6 6 0 0 1 6 0Z` }),
    placeMark(state, setting.unit),
    several ? groupTexts(card, setting) : resourceTexts(card.members[0], now, setting),
    svg("rect", { class: "node-focus", x: -4, y: -4, width: width + 8, height: height + 8, rx: 10 }),
  );
}

/** @param {string} state @returns {string} the state as a class: anybody's words are none */
function classOf(state) {
  return /^[A-Za-z]+$/.test(state) ? state : "other";
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

/** @param {import("./graph_model.js").Resource[]} members @returns {string} such as "1 Blocked, 70 Ready" */
export function sayCounts(members) {
  return countStates(members.map((each) => each.state))
    .map(([state, count]) => `${count} ${wordOf(state)}`)
    .join(", ");
}

/** @param {import("./graph_model.js").Resource} resource @param {number} now @param {Setting} setting */
function resourceTexts(resource, now, setting) {
  const small = font(11, setting);
  const since = resource.since === null ? "" : ` ${shortAge(now - resource.since)}`;
  const drift = sayDrift(resource);
  const whose = `${drift && `${drift} · `}${ownershipOf(resource.ownership).word}`;
  const name = resource.name.startsWith(setting.prefix) ? resource.name.slice(setting.prefix.length) : resource.name;
  const kind = fitText(resource.kind, 150 * setting.unit, small);
  const idAt = 14 + measureText(kind, small) / setting.unit + 7;
  const stateRoom = CARD.width - 48 - Math.min(measureText(whose, small) / setting.unit, 110);
  return [
    text(kind, [14, 56], 11, "node-kind", 150, setting),
    text(name, [14, 39], 13, "node-name", CARD.width - 24, setting),
    text(wordOf(resource.state) + since, [34, 20], 11, "node-state", stateRoom, setting),
    text(whose, [CARD.width - 10, 20], 11, `node-whose${drift && " node-drift"}`, 110, setting),
    text(resource.id || "no id yet", [idAt, 56], 10.5, "node-id", CARD.width - 10 - idAt, setting),
  ];
}

/** @param {number} seconds @returns {string} the age in its largest unit */
export function shortAge(seconds) {
  return age(seconds).split(/\s/u).slice(0, 2).join(" ");
}

/** @param {import("./graph_model.js").Card} card @param {Setting} setting */
function groupTexts({ members }, setting) {
  const [first] = members;
  const drifted = members.filter((each) => each.reason === "Drifted").length;
  const about = `alike, ${ownershipOf(first.ownership).word}${drifted ? ` · ${drifted} drifted` : ""}`;
  return [
    text(`${members.length} × ${first.kind}`, [14, 39], 13, "node-name", CARD.width - 24, setting),
    text(sayCounts(members), [34, 20], 11, "node-state", CARD.width - 44, setting),
    text(about, [14, 56], 11, `node-kind${drifted ? " node-drift" : ""}`, CARD.width - 24, setting),
  ];
}

/**
 * @param {string} value @param {[number, number]} at @param {number} size @param {string} name  its class
 * @param {number} room @param {Setting} setting
 */
function text(value, [x, y], size, name, room, setting) {
  const { unit } = setting;
  const fitted = fitText(value, room * unit, font(size, setting, name));
  const whole = fitted !== value && svg("title", null, value.slice(0, 1000));
  return svg("text", { class: name, x: x * unit, y: y * unit, "font-size": size * unit }, whole, `${fitted} `);
}

/** @param {number} size @param {Setting} setting @param {string} [name]  the class of the text */
function font(size, { unit, sans, mono }, name = "") {
  return `${name === "node-name" ? 600 : 400} ${size * unit}px ${name === "node-id" ? mono : sans}`;
}
