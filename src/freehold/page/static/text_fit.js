/** Texts that must fit into a width: cut in their middle, where ids and names differ least. */

import { plain } from "./dom.js";

/** No width that is asked for holds more characters. */
const LONGEST = 160;

const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/**
 * Return the text, cut in its middle if it is wider.
 * @param {string} text @param {number} width  in px @param {string} font  as CSS writes it @returns {string}
 */
export function fitText(text, width, font) {
  pen.font = font;
  const marks = Array.from(shorten(plain(text)));
  if (pen.measureText(marks.join("")).width <= width) return marks.join("");
  let [least, most] = [1, marks.length - 1];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (pen.measureText(cutMiddle(marks, middle)).width <= width) least = middle;
    else most = middle - 1;
  }
  return cutMiddle(marks, least);
}

/** @param {string} text @param {string} font @returns {number} its width in px */
export function measureText(text, font) {
  pen.font = font;
  return pen.measureText(text).width;
}

/** @param {string[]} marks @param {number} kept @returns {string} */
function cutMiddle(marks, kept) {
  const head = Math.ceil(kept * 0.55);
  return `${marks.slice(0, head).join("")}…${marks.slice(marks.length - (kept - head)).join("")}`;
}

/** @param {string} text @returns {string} */
function shorten(text) {
  return text.length <= 2 * LONGEST ? text : `${text.slice(0, LONGEST)}${text.slice(-LONGEST)}`;
}
