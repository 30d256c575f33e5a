/** The timeline of the last create, delete or repair: a table whose bars are drawn on one axis of time. */

import { datum, h, replace } from "./dom.js";
import { age, clockTime, counted, dateTime } from "./format.js";
import { clip } from "./resource_panel.js";
import { isNarrow, widthInRem } from "./room.js";
import { chooseBars, findTicks, isWaiting, orderBars, piecesOf, spanOf } from "./timeline_model.js";

/** Bars that are shown at first. */
const FIRST = 40;
/**
 * Width of a step on the axis at least, in rem; the share of the page that the axis has, if there is room beside it.
 */
const [STEP, SHARE] = [8, 0.5];
/** Share of the axis after which a step has no room for its words. */
const LAST = 0.88;

const TITLES = { create: "Create", update: "Update", repair: "Repair", delete: "Delete" };

const NO_BARS = "No resource has been worked on yet.";
const NO_HISTORY =
  "Nothing is on record: an operation is noted while it runs, and none has run since the operator started.";

export class Timeline {
  #all = false;
  #shown = "";

  constructor() {
    this.about = h("div", { class: "timeline-about" });
    this.table = h("div", { class: "timeline-table" });
    this.more = h("button", { type: "button", class: "button timeline-more", on: { click: () => this.#toggle() } });
    this.element = h(
      "section",
      { class: "timeline", "aria-labelledby": "timeline-title" },
      h("h2", { id: "timeline-title" }, "Timeline"),
      this.about,
      this.table,
      this.more,
    );
  }

  /**
   * @param {import("./timeline_model.js").History | null} history @param {number} now
   * @param {string} prefix  of names
   */
  update(history, now, prefix) {
    this.last = { history, now, prefix };
    const runs = history?.bars.some((bar) => bar.ended === null) ? Math.floor(now / 2) : 0;
    const shown = JSON.stringify([history, runs, this.#all]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.more.hidden = !history || history.bars.length <= FIRST;
    if (!history?.bars.length) {
      replace(this.about, h("p", { class: "muted" }, history ? NO_BARS : NO_HISTORY));
      return replace(this.table);
    }
    const bars = orderBars(history, this.#all ? history.bars : chooseBars(history.bars, FIRST, now));
    replace(this.about, about(history, now));
    replace(this.table, buildTable(history, bars, now, prefix));
    replace(
      this.more,
      this.#all
        ? "Show fewer"
        : `Show all ${history.bars.length}: ${history.bars.length - bars.length} shorter ones are left out`,
    );
  }

  #toggle() {
    this.#all = !this.#all;
    if (this.last) this.update(this.last.history, this.last.now, this.last.prefix);
  }
}

/** @param {import("./timeline_model.js").History} history @param {number} now */
function about(history, now) {
  const open = history.bars.filter((bar) => bar.ended === null);
  const waiting = open.filter((bar) => isWaiting(bar, history)).length;
  const critical = orderBars(
    history,
    history.bars.filter((bar) => bar.critical),
  );
  const took = age((history.ended ?? now) - history.begun);
  const { begun, ended, cut } = spanOf(history, now);
  const end = history.ended === null ? `has run for ${took}` : `took ${took}`;
  return [
    h(
      "p",
      null,
      h("strong", null, TITLES[history.operation] ?? "Operation"),
      ` began ${dateTime(history.begun)}, ${end}. `,
      open.length > 0 && sayOpen(open.length - waiting, waiting),
    ),
    !history.complete &&
      h(
        "p",
        { class: "timeline-gap" },
        h("strong", null, "Incomplete: "),
        "the operator has started since. Drawn is what the status says: when each resource got where it is.",
      ),
    critical.length > 0 &&
      h(
        "p",
        null,
        h("span", { class: "critical-mark", "aria-hidden": "true" }, "◆"),
        h("strong", null, " Critical path: "),
        critical.flatMap((bar, index) => [index > 0 && " → ", datum(clip(bar.kind, 60))]),
        ". A shorter step elsewhere saves no time.",
      ),
    cut &&
      h(
        "p",
        { class: "muted" },
        `Nothing has changed for long: the axis ends at +${age(ended - begun)}, and what still runs goes on beyond it.`,
      ),
    buildLegend(history.complete),
  ];
}

/** @param {number} working @param {number} waiting @returns {string} */
function sayOpen(working, waiting) {
  const parts = [
    working && `${counted(working, "resource")} still running`,
    waiting && `${counted(waiting, "resource")} waiting for others`,
  ];
  return `${parts.filter(Boolean).join(", ")}.`;
}

/** @param {boolean} complete */
function buildLegend(complete) {
  const kinds = complete
    ? [
        ["bar-waited", "waits for others"],
        ["bar-worked", "worked on"],
        ["bar-worked critical", "critical path ◆"],
        ["bar-worked running", "still running"],
      ]
    : [
        ["bar-unknown", "done by the end of the line"],
        ["bar-unknown running", "still running"],
      ];
  return h(
    "ul",
    { class: "timeline-legend", "aria-hidden": "true" },
    kinds.map(([name, word]) => h("li", null, h("span", { class: `bar-key ${name}` }), word)),
  );
}

/**
 * @param {import("./timeline_model.js").History} history @param {import("./timeline_model.js").Bar[]} bars
 * @param {number} now @param {string} prefix
 */
function buildTable(history, bars, now, prefix) {
  const span = spanOf(history, now);
  const steps = Math.max(2, Math.floor((widthInRem() * (isNarrow() ? 1 : SHARE)) / STEP));
  const ticks = findTicks(span, steps);
  const length = span.ended - span.begun;
  const axis = h(
    "div",
    { class: "axis" },
    ticks
      .filter((tick) => tick / length < LAST)
      .map((tick) =>
        at(h("span", { class: "tick" }, tick ? `+${age(tick)}` : clockTime(span.begun)), "left", tick / length),
      ),
  );
  const head = h("tr", { role: "row" }, [
    h("th", { scope: "col", role: "columnheader" }, "Resource"),
    h("th", { scope: "col", role: "columnheader", class: "bar-cell" }, h("span", { class: "sr-only" }, "When"), axis),
    h("th", { scope: "col", role: "columnheader" }, "Took"),
  ]);
  return h(
    "table",
    { role: "table" },
    h("caption", { class: "sr-only" }, "When each resource was waited for and worked on"),
    h("thead", { role: "rowgroup" }, head),
    h(
      "tbody",
      { role: "rowgroup" },
      bars.map((bar) => buildRow(bar, history, span, ticks, now, prefix)),
    ),
  );
}

/**
 * @param {import("./timeline_model.js").Bar} bar @param {import("./timeline_model.js").History} history
 * @param {{begun: number, ended: number}} span @param {number[]} ticks @param {number} now @param {string} prefix
 */
function buildRow(bar, history, span, ticks, now, prefix) {
  const pieces = piecesOf(bar, history, span, now);
  const name = bar.name.startsWith(prefix) ? bar.name.slice(prefix.length) : bar.name;
  const kind = `${bar.critical ? " critical" : ""}${bar.ended === null ? " running" : ""}`;
  const draw = (/** @type {string} */ look, /** @type {import("./timeline_model.js").Piece | null} */ piece) =>
    piece && at(at(h("span", { class: look }), "left", piece.from), "width", piece.length);
  const lane = h(
    "div",
    { class: "lane", "aria-hidden": "true" },
    ticks.map((tick) => at(h("span", { class: "lane-grid" }), "left", tick / (span.ended - span.begun))),
    draw("bar-waited", pieces.waited),
    draw(`bar-worked${kind}`, pieces.worked),
    draw(`bar-unknown${kind}`, pieces.unknown),
  );
  const mark = bar.critical && [
    h("span", { class: "critical-mark", "aria-hidden": "true" }, "◆ "),
    h("span", { class: "sr-only" }, "critical path: "),
  ];
  return h(
    "tr",
    { role: "row", class: kind.trim() },
    h(
      "th",
      { scope: "row", role: "rowheader" },
      mark,
      datum(clip(bar.kind, 60), "muted"),
      " ",
      h("bdi", { title: bar.name.slice(0, 500) }, clip(name, 80)),
    ),
    h("td", { role: "cell", class: "bar-cell" }, h("span", { class: "sr-only" }, sayWhen(bar, history, span)), lane),
    h("td", { role: "cell", class: "took" }, sayTook(bar, history, now)),
  );
}

/**
 * @param {import("./timeline_model.js").Bar} bar @param {import("./timeline_model.js").History} history
 * @param {{begun: number}} span
 */
function sayWhen(bar, history, span) {
  const after = (/** @type {number} */ time) => `+${age(time - span.begun)}`;
  if (isWaiting(bar, history)) return `waits for others since ${after(bar.begun)}`;
  if (bar.waited_until === null) return bar.ended === null ? "not done yet" : `done by ${after(bar.ended)}`;
  return `${bar.waited_until > bar.begun ? "waited for others, " : ""}worked on from ${after(bar.waited_until)}`;
}

/**
 * @param {import("./timeline_model.js").Bar} bar @param {import("./timeline_model.js").History} history
 * @param {number} now
 */
function sayTook(bar, history, now) {
  if (isWaiting(bar, history)) return "waits";
  if (bar.waited_until === null)
    return bar.ended === null
      ? h("strong", null, "runs")
      : h("span", { class: "muted" }, `by +${age(bar.ended - history.begun)}`);
  const seconds = (bar.ended ?? now) - bar.waited_until;
  const took = seconds < 1 ? "under 1 s" : age(seconds);
  return bar.ended === null ? h("strong", null, `${took}, runs`) : took;
}

/**
 * Set where something begins or how long it is, as a share of the axis.
 * @template {HTMLElement} E @param {E} element @param {"left" | "width"} side @param {number} share @returns {E}
 */
function at(element, side, share) {
  element.style[side] = `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(3)}%`;
  return element;
}
