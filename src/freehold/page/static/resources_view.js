/** The resources of an object: graph or table, the filter, and the panel of what is selected. */

import { h, replace } from "./dom.js";
import { buildGraph, groupOf } from "./graph_model.js";
import { buildGroupPanel, buildPanel, stateWord } from "./resource_panel.js";
import { ResourceTable } from "./resource_table.js";
import { countStates, isSettled, sharedPrefix } from "./resources.js";
import { isNarrow } from "./room.js";

/**
 * @typedef {object} Choice  What a person has chosen; it is kept in the address.
 * @property {"graph" | "table"} show
 * @property {boolean} unsettledOnly
 * @property {string} selected  key of a resource, id of a group, or ""
 */

/** @param {URLSearchParams} query @returns {Choice} */
export function readChoice(query) {
  const show = query.get("show") ?? (isNarrow() ? "table" : "graph");
  return {
    show: show === "table" ? "table" : "graph",
    unsettledOnly: query.get("only") === "unsettled",
    selected: query.get("resource") ?? "",
  };
}

/** @param {Choice} choice @returns {Record<string, string>} */
export function writeChoice({ show, unsettledOnly, selected }) {
  const first = isNarrow() ? "table" : "graph";
  return { show: show === first ? "" : show, only: unsettledOnly ? "unsettled" : "", resource: selected };
}

export class ResourcesView {
  /** @type {import("./graph.js").GraphView | null} */
  #graph = null;
  #panelShown = "";
  /** @type {Map<string, string[]>} */
  #needs = new Map();
  /** @type {Set<string>} */
  #opened = new Set();
  /** @type {import("./graph_model.js").Resource[]} */
  #resources = [];
  #now = 0;
  #name = "";

  /** @param {Choice} choice @param {(choice: Choice) => void} onChoice */
  constructor(choice, onChoice) {
    this.choice = choice;
    this.onChoice = onChoice;
    this.table = new ResourceTable((key) => this.#select(key));
    this.counts = h("p", { class: "counts" });
    this.hint = h("p", { class: "empty" });
    this.main = h("div", { class: "resources-main" });
    this.side = h("div", { class: "resources-side" });
    this.toolbar = this.#buildToolbar();
    this.element = h(
      "section",
      {
        class: "resources",
        "aria-labelledby": "resources-title",
        on: {
          keydown: (/** @type {KeyboardEvent} */ event) =>
            event.key === "Escape" && this.choice.selected && this.#close(),
        },
      },
      h("div", { class: "resources-head" }, h("h2", { id: "resources-title" }, "Resources"), this.counts, this.toolbar),
      h("div", { class: "resources-body" }, this.main, this.side),
    );
  }

  /**
   * @param {import("./graph_model.js").Resource[]} resources @param {string} name  of the object @param {number} now
   */
  async update(resources, name, now) {
    [this.#resources, this.#name, this.#now] = [this.#recall(resources), name, now];
    const counts = countStates(resources.map((each) => each.state));
    replace(
      this.counts,
      counts.map(([state, count]) => h("span", { class: "count" }, `${count} `, stateWord(state))),
    );
    await this.#show();
  }

  /**
   * Give resources whose record has gone what they were known to need: in a delete the graph keeps its form.
   * @param {import("./graph_model.js").Resource[]} resources
   */
  #recall(resources) {
    const recalled = resources.map((each) =>
      each.requires.length ? each : { ...each, requires: this.#needs.get(each.key) ?? [] },
    );
    this.#needs = new Map(recalled.map((each) => [each.key, each.requires]));
    return recalled;
  }

  /** Show what another address asks for. @param {Choice} choice */
  async choose(choice) {
    this.choice = choice;
    await this.#show();
  }

  /** Bring the ages of the graph up to date. @param {number} now */
  tick(now) {
    this.#now = now;
    if (this.choice.show === "graph" && this.#graph?.element.isConnected) this.#drawGraph();
  }

  #buildToolbar() {
    this.graphButton = h(
      "button",
      { type: "button", class: "button", on: { click: () => this.#change({ show: "graph" }) } },
      "Graph",
    );
    this.tableButton = h(
      "button",
      { type: "button", class: "button", on: { click: () => this.#change({ show: "table" }) } },
      "Table",
    );
    this.only = h("input", {
      type: "checkbox",
      on: { change: () => this.#change({ unsettledOnly: this.only.checked }) },
    });
    return h(
      "div",
      { class: "resources-tools" },
      h(
        "div",
        { class: "switch", role: "group", "aria-label": "Show the resources as" },
        this.graphButton,
        this.tableButton,
      ),
      h("label", { class: "only" }, this.only, " Only what is not Ready"),
    );
  }

  async #show() {
    const { show, unsettledOnly } = this.choice;
    this.graphButton?.setAttribute("aria-pressed", String(show === "graph"));
    this.tableButton?.setAttribute("aria-pressed", String(show === "table"));
    if (this.only) this.only.checked = unsettledOnly;
    const shown = this.#resources.filter((each) => !unsettledOnly || !isSettled(each));
    this.hint.textContent = this.#resources.length
      ? "All resources are as wanted: nothing is left to show."
      : "No resource has been reported yet.";
    this.#showPanel();
    if (!shown.length) return replace(this.main, this.hint);
    if (show === "table") {
      if (!this.main.contains(this.table.element)) replace(this.main, this.table.element);
      this.table.update(shown, this.#resources, this.#now);
      this.table.select(this.choice.selected);
    } else {
      await this.#showGraph();
    }
  }

  async #showGraph() {
    const { GraphView } = await import("./graph.js");
    if (this.choice.show !== "graph") return;
    this.#graph ??= new GraphView((card) => this.#select(card.id));
    if (!this.main.contains(this.#graph.element)) replace(this.main, this.#graph.element, buildKeys());
    this.#drawGraph();
    this.#graph.select(this.#cardOf(this.choice.selected));
  }

  #drawGraph() {
    const { unsettledOnly } = this.choice;
    this.cards = buildGraph(this.#resources, { unsettledOnly, opened: this.#opened });
    this.#graph?.update(this.cards, this.#now, this.#prefix());
  }

  #prefix() {
    return sharedPrefix(
      this.#resources.map((each) => each.name),
      this.#name,
    );
  }

  /** @param {string} selected @returns {string} the card that shows it */
  #cardOf(selected) {
    return (
      this.cards?.cards.find(({ id, members }) => id === selected || members.some((each) => each.key === selected))
        ?.id ?? ""
    );
  }

  #showPanel() {
    const { selected } = this.choice;
    const resource = this.#resources.find((each) => each.key === selected);
    const members = selected.startsWith("group:") ? this.#resources.filter((each) => groupOf(each) === selected) : [];
    const shown = JSON.stringify([
      selected,
      resource ?? members,
      resource && this.#resources.map((each) => [each.key, each.state]),
    ]);
    if (shown === this.#panelShown) return;
    const focused = this.side.contains(document.activeElement);
    this.#panelShown = shown;
    const actions = {
      onSelect: (/** @type {string} */ key) => this.#select(key),
      onClose: () => this.#close(),
      onOpen: (/** @type {string} */ id) => this.#open(id),
    };
    if (resource) replace(this.side, buildPanel(resource, this.#resources, this.#now, actions));
    else if (members.length) replace(this.side, buildGroupPanel({ id: selected, members }, actions));
    else replace(this.side);
    this.element.classList.toggle("with-panel", Boolean(resource || members.length));
    if (focused) this.#focusPanel();
  }

  #focusPanel() {
    const title = this.side.querySelector("h3");
    title?.focus({ preventScroll: true });
    title?.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} selected */
  #select(selected) {
    this.#change({ selected });
    this.#focusPanel();
  }

  #close() {
    const { selected } = this.choice;
    this.#change({ selected: "" });
    if (this.choice.show === "table") this.table.focus(selected);
    else this.#graph?.focus(this.#cardOf(selected));
  }

  /** Draw the members of a group each. @param {string} id */
  #open(id) {
    const first = this.#resources.find((each) => groupOf(each) === id);
    this.#opened.add(id);
    if (first) this.#select(first.key);
  }

  /** @param {Partial<Choice>} change */
  #change(change) {
    this.choice = { ...this.choice, ...change };
    void this.#show();
    this.onChoice(this.choice);
  }
}

function buildKeys() {
  return h(
    "p",
    { class: "graph-keys" },
    "Drag or scroll to move, Ctrl and wheel to zoom. Arrow keys lead from card to card, Enter shows details, Esc closes.",
  );
}
