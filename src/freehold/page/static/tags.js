/** Tags: the report of each CloudMetadata. */

import { h, replace } from "./dom.js";

/** @param {HTMLElement} root @param {any} context */
export async function mount(root, context) {
  replace(root, h("h1", null, "Tags"));
  await context.api.get("/api/tags");
}

export function unmount() {}
