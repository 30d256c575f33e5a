/** Audit: who changed what, from which value to which. */

import { h, replace } from "./dom.js";

/** @param {HTMLElement} root @param {any} context */
export async function mount(root, context) {
  replace(root, h("h1", null, "Audit"));
  await context.api.get("/api/audit");
}

export function unmount() {}
