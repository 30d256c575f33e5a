/**
 * Building of elements. Data becomes text nodes and attributes only: nothing here, and nothing that uses it, parses
 * markup. Under the page's Content-Security-Policy a `style` attribute is refused; set `element.style.x` instead.
 */

const SVG = "http://www.w3.org/2000/svg";

/** Controls, and marks that reorder or hide text (bidi controls, zero width, separators, byte order mark). */
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/**
 * Return the text with each invisible character as an escape, so that a name looks like what it is.
 * @param {unknown} text
 * @returns {string}
 */
export function plain(text) {
  return String(text ?? "").replace(INVISIBLE, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * @typedef {Node | string | number | null | undefined | false | Child[]} Child  Strings are data: they pass `plain`.
 * @typedef {Record<string, unknown>} Props  Attributes; `class`, `on: {event: handler}`, `data: {name: value}`; false,
 *   null and undefined are left out, true is an empty attribute.
 */

/**
 * Build an HTML element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/**
 * Build an SVG element.
 * @param {string} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
  return fill(/** @type {SVGElement} */ (document.createElementNS(SVG, tag)), props, children);
}

/**
 * @template {HTMLElement | SVGElement} E
 * @param {E} element @param {Props | null | undefined} props @param {Child[]} children
 * @returns {E}
 */
function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : plain(value));
    }
  }
  append(element, children);
  return element;
}

/** @param {Element} parent @param {Child[]} children */
function append(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.append(child);
    else if (child !== null && child !== undefined && child !== false) parent.append(plain(child));
  }
}

/**
 * Put these children in the place of all others.
 * @param {Element} parent
 * @param {...Child} children
 */
export function replace(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * Set a text, only if it differs: an unchanged node keeps selections and is not read out again.
 * @param {Element} element
 * @param {unknown} text
 */
export function setText(element, text) {
  const wanted = plain(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/**
 * Build a text of anybody's (a name, a message, a tag): its direction does not reach beyond it.
 * @param {unknown} text
 * @param {string} [className]
 * @returns {HTMLElement}
 */
export function datum(text, className) {
  return h("bdi", { class: className }, plain(text));
}

/**
 * Bring the children of an element to this list; what is in its place already is not touched, and keeps its focus.
 * @param {Element} parent
 * @param {Element[]} wanted
 */
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  wanted.forEach((element, index) => {
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index] ?? null);
  });
}
