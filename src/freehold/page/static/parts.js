/** Parts that several views use: ages that stay current, commands to copy, texts that may be long, empty states. */

import { datum, h, plain, replace, setText, svg } from "./dom.js";
import { age, dateTime } from "./format.js";
import { objectHref } from "./route.js";

/** Characters above which a text is folded. */
const LONG = 320;
/** Characters of a name or value that are shown; its middle is left out. */
const SHORT = 200;

/**
 * Build an age ("3 h 12 min") that app.js keeps current while it is on the page.
 * @param {number | null | undefined} since  epoch seconds; null: not known
 * @param {number} now
 * @returns {HTMLElement}
 */
export function ageSince(since, now) {
  if (since === null || since === undefined) return h("span", { class: "age" }, "–");
  const iso = new Date(since * 1000);
  const known = Number.isFinite(iso.getTime());
  const props = { class: "age", title: known && dateTime(since), datetime: known && iso.toISOString() };
  return h("time", { ...props, data: { since } }, age(now - since));
}

/** Bring all ages of the page up to date. @param {number} now */
export function refreshAges(now) {
  for (const element of document.querySelectorAll("time[data-since]")) {
    setText(element, age(now - Number(element.dataset.since)));
  }
}

/**
 * Build a command with a button that copies it.
 * @param {string} command
 * @returns {HTMLElement}
 */
export function copyable(command) {
  const code = h("code", null, datum(command));
  const word = h("span", { class: "copy-word" }, "Copy");
  const button = h(
    "button",
    { type: "button", class: "copy", "aria-label": `Copy: ${command.slice(0, 200)}`, on: { click: () => void copy() } },
    svg(
      "svg",
      { viewBox: "0 0 16 16", "aria-hidden": "true" },
      svg("path", { d: "M5.5 4.5v-3h9v9h-3M1.5 4.5h10v10h-10z" }),
    ),
    word,
  );
  async function copy() {
    const done = await copyText(command, code);
    setText(word, done ? "Copied" : "Selected");
    button.classList.add("done");
    setTimeout(() => (setText(word, "Copy"), button.classList.remove("done")), 2000);
    document.getElementById("live")?.replaceChildren(done ? "Command copied" : "Command selected: copy it by hand");
  }
  return h("div", { class: "command" }, code, button);
}

/**
 * @param {string} text @param {Element} shown  what is selected where the clipboard is closed
 * @returns {Promise<boolean>}
 */
async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP from another machine there is no clipboard: the text is selected for the person's own keys.
    getSelection()?.selectAllChildren(shown);
    return false;
  }
}

/**
 * Build a text of anybody's that may be long: folded, with a button that shows all of it.
 * @param {string} text
 * @param {string} [className]
 * @returns {HTMLElement}
 */
export function longText(text, className = "") {
  if (text.length <= LONG) return h("p", { class: `prose ${className}` }, datum(text));
  const body = datum(`${text.slice(0, LONG)}…`);
  const button = h(
    "button",
    { type: "button", class: "quiet", "aria-expanded": "false", on: { click: toggle } },
    "Show all",
  );
  function toggle() {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(open));
    setText(body, open ? text : `${text.slice(0, LONG)}…`);
    setText(button, open ? "Show less" : "Show all");
  }
  return h("p", { class: `prose ${className}` }, body, " ", button);
}

/**
 * Build a name or value of anybody's; the middle of a very long one is left out, and in its title.
 * @param {string} text
 * @param {string} [className]
 * @returns {HTMLElement}
 */
export function shortText(text, className) {
  if (text.length <= SHORT) return datum(text, className);
  const element = datum(`${text.slice(0, SHORT / 2)} … ${text.slice(-SHORT / 4)}`, className);
  element.title = plain(text);
  return element;
}

/**
 * Build a link to an object, as "Kind namespace/name".
 * @param {string} key
 * @returns {HTMLElement}
 */
export function objectLink(key) {
  const [kind, namespace, ...name] = key.split("/");
  return h(
    "a",
    { class: "object-link", href: objectHref(key) },
    h("span", { class: "object-kind" }, shortText(kind)),
    " ",
    namespace && h("span", { class: "object-namespace" }, shortText(namespace), "/"),
    shortText(name.join("/"), "object-name"),
  );
}

/**
 * Build a share as a thin bar, silent to a screen reader: say it in words beside it.
 * @param {{tone: import("./states.js").Tone, count: number}[]} segments
 * @returns {HTMLElement}
 */
export function shareBar(segments) {
  const bar = h("span", { class: "share", "aria-hidden": "true" });
  for (const { tone, count } of segments) {
    if (!count) continue;
    const segment = h("span", { class: `share-part tone-${tone}` });
    segment.style.flexGrow = String(count);
    bar.append(segment);
  }
  return bar;
}

/**
 * Build a notice: what is empty, missing or refused, and what to do.
 * @param {string} title
 * @param {...import("./dom.js").Child} children
 * @returns {HTMLElement}
 */
export function notice(title, ...children) {
  return h("div", { class: "notice" }, h("p", { class: "notice-title" }, title), ...children);
}

/**
 * Show that something could not be read, with a way to try again.
 * @param {Element} root @param {Error} error @param {() => void} again
 * @param {string} [title]  heading of the page, where the root is the whole view
 */
export function showProblem(root, error, again, title) {
  const button = h("button", { type: "button", class: "button", on: { click: again } }, "Try again");
  const said = notice("This could not be read", h("p", null, datum(error.message)), button);
  replace(root, title && h("h1", { class: "view-title" }, title), said);
}

/** Build "before → after" of a value. @param {string | null} before @param {string | null} after */
export function buildChange(before, after) {
  return h(
    "span",
    { class: "change" },
    h("del", null, buildValue(before)),
    h("span", { class: "arrow" }, " → "),
    h("ins", null, buildValue(after)),
  );
}

/** Build the value of a tag; one that is not there or empty is said in words. @param {string | null} value */
export function buildValue(value) {
  if (value === null || value === undefined) return h("span", { class: "no-value" }, "(none)");
  return value === "" ? h("span", { class: "no-value" }, "(empty)") : shortText(value);
}
