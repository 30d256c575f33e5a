/** The graph of resources on the screen: cards and lines, moved about with mouse, wheel and keys. */

import { datum, h, replace, svg } from "./dom.js";
import { drawCard, scaled, shortAge } from "./graph_card.js";
import { placeCards } from "./graph_layout.js";

const [LEAST, MOST] = [0.25, 2];
/** Scale below which texts are not read easily: the graph begins no smaller. */
const READABLE = 0.85;
const STEP = 1.25;
/** Pixels that a pointer moves before that is a drag, and no click. */
const DRAG = 5;

/** Ways in which the arrow keys lead. @type {Record<string, [number, number]>} */
const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

let drawn = 0;

export class GraphView {
  #number = (drawn += 1);
  #scale = 0;
  #signature = "";
  /** @type {import("./graph_layout.js").Layout | null} */
  #layout = null;
  /** @type {Map<string, SVGElement>} */
  #groups = new Map();
  /** @type {Map<string, string>} what each card shows, to draw only what is new */
  #shown = new Map();
  #current = "";
  #dragged = false;

  /** @param {(card: import("./graph_model.js").Card) => void} onSelect */
  constructor(onSelect) {
    this.onSelect = onSelect;
    this.lines = svg("g", { class: "graph-lines", "aria-hidden": "true" });
    this.cards = svg("g", { class: "nodes" });
    this.picture = svg(
      "svg",
      { class: "graph-picture", role: "group", "aria-label": "Resources as a graph" },
      this.#markers(),
      this.lines,
      this.cards,
    );
    this.stage = h(
      "div",
      { class: "graph-stage", tabindex: "0", role: "region", "aria-label": "Graph of resources" },
      this.picture,
    );
    this.legend = h("ul", { class: "legend" });
    this.element = h(
      "div",
      { class: "graph" },
      h("div", { class: "graph-bar" }, this.legend, this.#controls()),
      this.stage,
    );
    this.stage.addEventListener("keydown", (event) => this.#onKey(event));
    this.stage.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
    this.stage.addEventListener("pointerdown", (event) => this.#onGrab(event));
    this.stage.addEventListener("click", (event) => this.#onClick(event));
    this.cards.addEventListener("focusin", (event) => this.#onFocus(event));
  }

  /**
   * Draw the graph. Where only states have changed, all cards keep their places.
   * @param {import("./graph_model.js").Graph} graph @param {number} now @param {string} prefix  of names
   */
  update(graph, now, prefix) {
    const setting = this.#setting(prefix);
    const signature = JSON.stringify([
      setting,
      graph.cards.map((card) => card.id),
      graph.lines.map(({ from, to }) => [from, to]),
    ]);
    this.graph = graph;
    replace(
      this.legend,
      ...explain(
        prefix,
        graph.lines.some((line) => line.waits),
      ),
    );
    if (signature !== this.#signature) this.#place(graph, setting);
    this.#signature = signature;
    for (const card of graph.cards) this.#drawCard(card, now, setting);
    this.#drawLines();
    if (!this.#scale && this.stage.clientWidth) this.#begin();
  }

  /** @param {string} id  of the card that is selected; empty: none */
  select(id) {
    const isNew = id !== this.selected;
    this.selected = id;
    for (const [each, group] of this.#groups) group.setAttribute("aria-pressed", String(each === id));
    this.#drawLines();
    if (isNew) this.#groups.get(id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** @param {string} id */
  focus(id) {
    this.#groups.get(id)?.focus();
  }

  fit() {
    const { width, height } = this.#size();
    this.#zoom(Math.min(this.stage.clientWidth / width, this.stage.clientHeight / height, 1.5));
  }

  #controls() {
    const button = (/** @type {string} */ label, /** @type {string} */ sign, /** @type {() => void} */ act) =>
      h(
        "button",
        { type: "button", class: "button graph-button", "aria-label": label, title: label, on: { click: act } },
        sign,
      );
    return h(
      "div",
      { class: "graph-controls", role: "group", "aria-label": "Size of the graph" },
      button("Zoom out (−)", "−", () => this.#zoom(this.#scale / STEP)),
      button("Zoom in (+)", "+", () => this.#zoom(this.#scale * STEP)),
      button("Fit into view (0)", "Fit", () => this.fit()),
    );
  }

  /** Ends of lines: an arrow to what needs the other, a ring at what waits for it. */
  #markers() {
    const arrow = (/** @type {string} */ name) =>
      svg(
        "marker",
        {
          id: `${name}-${this.#number}`,
          class: name,
          viewBox: "0 0 8 8",
          refX: 7,
          refY: 4,
          markerWidth: 8,
          markerHeight: 8,
          markerUnits: "userSpaceOnUse",
          orient: "auto",
        },
        svg("path", { d: "M0 0L8 4L0 8z" }),
      );
    const ring = (/** @type {string} */ name, /** @type {number} */ at) =>
      svg(
        "marker",
        {
          id: `${name}-${this.#number}`,
          class: "ring",
          viewBox: "0 0 10 10",
          refX: at,
          refY: 5,
          markerWidth: 11,
          markerHeight: 11,
          markerUnits: "userSpaceOnUse",
        },
        svg("circle", { cx: 5, cy: 5, r: 3.5 }),
      );
    return svg("defs", null, arrow("arrow"), arrow("arrow-lit"), ring("ring-start", 1), ring("ring-end", 9));
  }

  /** @param {string} prefix @returns {import("./graph_card.js").Setting} */
  #setting(prefix) {
    const style = getComputedStyle(document.documentElement);
    const fonts = getComputedStyle(this.stage);
    const mono = fonts.getPropertyValue("--mono").trim() || "monospace";
    return { unit: Number.parseFloat(style.fontSize) / 16 || 1, prefix, sans: fonts.fontFamily, mono };
  }

  /** @param {import("./graph_model.js").Graph} graph @param {import("./graph_card.js").Setting} setting */
  #place(graph, setting) {
    this.#layout = placeCards(graph, scaled(setting.unit));
    this.#shown.clear();
    const groups = graph.cards.map((card) => {
      const group = this.#groups.get(card.id) ?? svg("g", { role: "button", tabindex: "-1", "aria-pressed": "false" });
      group.dataset.card = card.id;
      const { x, y } = /** @type {import("./graph_layout.js").Place} */ (this.#layout?.places.get(card.id));
      group.setAttribute("transform", `translate(${x} ${y})`);
      return /** @type {[string, SVGElement]} */ ([card.id, group]);
    });
    const focused = document.activeElement;
    this.#groups = new Map(groups);
    replace(this.cards, ...this.#groups.values());
    if (focused instanceof SVGElement && this.cards.contains(focused)) focused.focus();
    if (!this.#groups.has(this.#current)) this.#current = graph.cards[0]?.id ?? "";
    this.#groups.get(this.#current)?.setAttribute("tabindex", "0");
    if (this.#scale) this.#resize();
  }

  /**
   * @param {import("./graph_model.js").Card} card @param {number} now
   * @param {import("./graph_card.js").Setting} setting
   */
  #drawCard(card, now, setting) {
    const [first] = card.members;
    const since = card.members.length > 1 || first.since === null ? "" : shortAge(now - first.since);
    const shown = JSON.stringify([card.members, since]);
    if (this.#shown.get(card.id) === shown) return;
    this.#shown.set(card.id, shown);
    drawCard(/** @type {SVGElement} */ (this.#groups.get(card.id)), card, now, setting);
  }

  #drawLines() {
    const lines = this.graph?.lines ?? [];
    const ways = this.#layout?.ways ?? [];
    const paths = lines.map(({ from, to, waits }, index) => {
      const lit = Boolean(this.selected) && (from === this.selected || to === this.selected);
      const end = waits === "to" ? "ring-end" : waits ? "" : lit ? "arrow-lit" : "arrow";
      return svg("path", {
        class: `graph-line${waits && " line-waits"}${lit ? " line-lit" : ""}`,
        d: ways[index],
        "marker-start": waits === "from" && `url(#ring-start-${this.#number})`,
        "marker-end": end && `url(#${end}-${this.#number})`,
      });
    });
    replace(
      this.lines,
      ...paths.sort(
        (one, other) => Number(one.classList.contains("line-lit")) - Number(other.classList.contains("line-lit")),
      ),
    );
  }

  #size() {
    return { width: Math.max(this.#layout?.width ?? 1, 1), height: Math.max(this.#layout?.height ?? 1, 1) };
  }

  #begin() {
    const { width } = this.#size();
    this.#scale = Math.min(Math.max(this.stage.clientWidth / width, READABLE), 1.15);
    this.#resize();
  }

  /** Zoom so that what is in the middle stays there. @param {number} scale */
  #zoom(scale) {
    const before = this.#scale || 1;
    const { stage } = this;
    const [x, y] = [
      (stage.scrollLeft + stage.clientWidth / 2) / before,
      (stage.scrollTop + stage.clientHeight / 2) / before,
    ];
    this.#scale = Math.min(Math.max(scale, LEAST), MOST);
    this.#resize();
    stage.scrollTo(x * this.#scale - stage.clientWidth / 2, y * this.#scale - stage.clientHeight / 2);
  }

  #resize() {
    const { width, height } = this.#size();
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.picture.setAttribute("width", String(Math.round(width * this.#scale)));
    this.picture.setAttribute("height", String(Math.round(height * this.#scale)));
  }

  /** @param {WheelEvent} event */
  #onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.#zoom(this.#scale * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
  }

  /** @param {PointerEvent} event */
  #onGrab(event) {
    if (event.button !== 0 || event.pointerType !== "mouse") return;
    const { stage } = this;
    const start = { x: event.clientX + stage.scrollLeft, y: event.clientY + stage.scrollTop };
    this.#dragged = false;
    const move = (/** @type {PointerEvent} */ moved) => {
      const [left, top] = [start.x - moved.clientX, start.y - moved.clientY];
      this.#dragged ||= Math.hypot(left - stage.scrollLeft, top - stage.scrollTop) > DRAG;
      if (!this.#dragged) return;
      stage.classList.add("dragging");
      stage.scrollTo(left, top);
    };
    const stop = new AbortController();
    const end = () => (stop.abort(), stage.classList.remove("dragging"));
    addEventListener("pointermove", move, { signal: stop.signal });
    addEventListener("pointerup", end, { signal: stop.signal });
    addEventListener("pointercancel", end, { signal: stop.signal });
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    if (!this.#dragged) this.#choose(event.target);
    this.#dragged = false;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") this.#zoom(this.#scale * STEP);
    else if (event.key === "-") this.#zoom(this.#scale / STEP);
    else if (event.key === "0") this.fit();
    else if (event.target === this.stage) return;
    else if (event.key === "Enter" || event.key === " ") this.#choose(event.target);
    else if (event.key === "Home" || event.key === "End") this.#step(event.key === "Home" ? 0 : -1);
    else if (event.key in DIRECTIONS) this.#walk(...DIRECTIONS[event.key]);
    else return;
    event.preventDefault();
  }

  /** @param {EventTarget | null} target */
  #choose(target) {
    const id = /** @type {Element | null} */ (target)?.closest?.("[data-card]")?.getAttribute("data-card");
    const card = this.graph?.cards.find((each) => each.id === id);
    if (card) this.onSelect(card);
  }

  /** @param {FocusEvent} event */
  #onFocus(event) {
    const group = /** @type {Element} */ (event.target).closest("[data-card]");
    if (!group) return;
    this.#groups.get(this.#current)?.setAttribute("tabindex", "-1");
    group.setAttribute("tabindex", "0");
    this.#current = group.getAttribute("data-card") ?? "";
    group.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** @param {number} index */
  #step(index) {
    const card = this.graph?.cards.at(index);
    if (card) this.focus(card.id);
  }

  /** Go to the nearest card in this direction. @param {number} x @param {number} y */
  #walk(x, y) {
    const places = this.#layout?.places;
    const here = places?.get(this.#current);
    if (!places || !here) return;
    let [best, least] = ["", Number.POSITIVE_INFINITY];
    for (const [id, place] of places) {
      const [right, down] = [place.x - here.x, place.y - here.y];
      const along = right * x + down * y;
      const far = along + 3 * Math.abs(x ? down : right);
      if (along > 1 && far < least) [best, least] = [id, far];
    }
    this.focus(best);
  }
}

/** @param {string} prefix  of names @param {boolean} waits  whether something waits @returns {HTMLElement[]} */
function explain(prefix, waits) {
  const sample = (/** @type {string} */ name) => h("span", { class: `legend-line ${name}`, "aria-hidden": "true" });
  const entries = [
    h("li", null, sample(""), "from what is needed to what needs it"),
    waits && h("li", null, sample("legend-waits"), h("span", null, "○ waits for the other end")),
    prefix && h("li", null, h("span", null, "names without “", datum(prefix), "”")),
  ];
  return entries.filter((each) => each instanceof HTMLElement);
}
