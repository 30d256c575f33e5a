/** The first view: what needs somebody, then all objects. */

import * as attention from "./attention.js";
import { h, replace } from "./dom.js";
import * as list from "./list.js";

/** @param {HTMLElement} root @param {any} context */
export function mount(root, context) {
  const first = h("section", { class: "attention", "aria-labelledby": "attention-title" });
  const all = h("section", { class: "objects", "aria-labelledby": "objects-title" });
  replace(root, first, all);
  attention.mount(first, context);
  list.mount(all, context);
}

/** @param {any} context */
export function navigate(context) {
  list.navigate(context);
}

export function unmount() {
  attention.unmount();
  list.unmount();
}
