/** The resources as a table: the same as the graph says, for who reads, listens, or has a narrow screen. */

import { datum, h, replace } from "./dom.js";
import { findWaits, ownershipOf } from "./resources.js";
import { clip, driftList, stateSince } from "./resource_panel.js";
import { longText } from "./parts.js";

const HEADS = ["State", "Resource", "Whose", "What is known"];

export class ResourceTable {
  /** @type {Map<string, {row: HTMLTableRowElement, shown: string}>} */
  #rows = new Map();

  /** @param {(key: string) => void} onSelect */
  constructor(onSelect) {
    this.onSelect = onSelect;
    this.body = h("tbody", { role: "rowgroup" });
    const heads = HEADS.map((head) => h("th", { scope: "col", role: "columnheader" }, head));
    const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads));
    const caption = h(
      "caption",
      { class: "sr-only" },
      "Resources: state, kind, name and id, whose they are, and what is known",
    );
    this.element = h("table", { class: "resource-table", role: "table" }, caption, head, this.body);
  }

  /**
   * @param {import("./graph_model.js").Resource[]} resources  those that are shown
   * @param {import("./graph_model.js").Resource[]} all @param {number} now
   */
  update(resources, all, now) {
    const keys = resources.map((each) => each.key);
    const same = keys.length === this.#rows.size && keys.every((key) => this.#rows.has(key));
    if (!same) this.#rows = new Map(keys.map((key) => [key, this.#rows.get(key) ?? this.#newRow(key)]));
    if (!same) this.body.replaceChildren(...[...this.#rows.values()].map(({ row }) => row));
    for (const resource of resources) this.#fill(resource, findWaits(resource, all), now);
  }

  /** @param {string} key  of the selected resource, or "" */
  select(key) {
    for (const [each, { row }] of this.#rows) {
      row.classList.toggle("selected", each === key);
      row.querySelector("button.row-name")?.setAttribute("aria-pressed", String(each === key));
    }
  }

  /** @param {string} key */
  focus(key) {
    const button = this.#rows.get(key)?.row.querySelector("button.row-name");
    if (button instanceof HTMLElement) button.focus();
  }

  /** @param {string} key */
  #newRow(key) {
    const cells = HEADS.map((_, index) =>
      h(index === 1 ? "th" : "td", index === 1 ? { scope: "row", role: "rowheader" } : { role: "cell" }),
    );
    const name = h("button", {
      type: "button",
      class: "row-name",
      "aria-pressed": "false",
      on: { click: () => this.onSelect(key) },
    });
    cells[1].append(name, h("span", { class: "row-id" }));
    return { row: h("tr", { role: "row" }, cells), shown: "" };
  }

  /** @param {import("./graph_model.js").Resource} resource @param {string[]} waits @param {number} now */
  #fill(resource, waits, now) {
    const entry = this.#rows.get(resource.key);
    const shown = JSON.stringify([resource, waits]);
    if (!entry || entry.shown === shown) return;
    entry.shown = shown;
    const [state, name, whose, known] = entry.row.cells;
    replace(state, stateSince(resource, now));
    replace(name.children[0], datum(clip(resource.kind), "muted"), " ", datum(clip(resource.name, 240)));
    replace(name.children[1], datum(resource.id ? clip(resource.id) : "no id yet"));
    replace(whose, datum(ownershipOf(resource.ownership).word));
    replace(
      known,
      resource.message && longText(resource.message),
      waitsText(waits),
      resource.drift.length > 0 && [
        h("p", { class: "muted" }, "Changed from outside, and brought back:"),
        driftList(resource.drift),
      ],
    );
  }
}

/** @param {string[]} keys */
function waitsText(keys) {
  if (!keys.length) return null;
  const more = keys.length > 3 ? ` and ${keys.length - 3} more` : "";
  return h(
    "p",
    { class: "row-waits" },
    "Waits for ",
    datum(
      keys
        .slice(0, 3)
        .map((key) => clip(key.replace("/", " ")))
        .join(", "),
    ),
    more,
  );
}
