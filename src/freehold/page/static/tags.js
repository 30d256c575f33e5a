/** Tags: how far the tags that each CloudMetadata asks for are as wanted, what is in conflict, trimmed and repaired. */

import { h, replace, setText } from "./dom.js";
import { counted, grouped, percent } from "./format.js";
import {
  ageSince,
  buildChange,
  buildValue,
  longText,
  notice,
  objectLink,
  shareBar,
  shortText,
  showProblem,
} from "./parts.js";
import { Refresher } from "./refresh.js";
import { stateBadge } from "./states.js";

/**
 * @typedef {{as_wanted: number, differs: number, drifted: number, left: number, not_known: number}} Counts
 * @typedef {{resource: string, tag: string, is: string | null, wanted: string | null, why: string}} Left
 * @typedef {{resource: string, tag: string, was: string | null, is: string | null, at: number}} Repair
 *
 * @typedef {object} TagsObject
 * @property {string} key
 * @property {string} namespace
 * @property {string} name
 * @property {string} phase
 * @property {number | null} total
 * @property {Counts | null} counts
 * @property {Left[]} conflicts
 * @property {Left[]} trimmed
 * @property {number} [unlisted]  conflicts and trimmed tags beyond those listed
 * @property {number | null} repaired
 * @property {Repair[]} [repairs]
 * @property {string[]} open
 * @property {number | null} looked
 */

/** Standings of resources, with what they mean. */
const STANDINGS = /** @type {const} */ ([
  { id: "as_wanted", tone: "ready", word: "as wanted", means: "every tag is as asked for" },
  { id: "drifted", tone: "deleting", word: "drifted", means: "somebody changed what was written" },
  { id: "differs", tone: "moving", word: "differ", means: "not written yet, or asked for anew" },
  { id: "left", tone: "paused", word: "left", means: "a limit, a conflict or somebody else's value prevents it" },
  { id: "not_known", tone: "quiet", word: "not known", means: "could not be read" },
]);
/** Rows of a table before "Show all". */
const FEW = 10;

/** @type {any} */
let context = null;
let ends = new AbortController();
/** @type {Refresher | null} */
let refresher = null;
let told = "";
/** @type {Record<string, HTMLElement>} */
let parts = {};

/** @param {HTMLElement} root @param {any} given */
export async function mount(root, given) {
  context = given;
  ends = new AbortController();
  told = "";
  parts = { note: h("p", { class: "section-note" }), body: h("div", { class: "tag-objects" }) };
  replace(root, h("div", { class: "section-head" }, h("h1", null, "Tags"), parts.note), parts.body);
  replace(parts.body, notice("Reading the report …"));
  refresher = new Refresher(() => void read());
  ends.signal.addEventListener("abort", context.store.subscribe(onChange));
  await read();
}

export function unmount() {
  ends.abort();
  refresher?.end();
}

/** @param {import("./store.js").Change} change */
function onChange({ all, keys }) {
  if (all || [...keys].some((key) => key.startsWith("CloudMetadata/"))) refresher?.soon();
}

async function read() {
  const { signal } = ends;
  try {
    const report = await context.api.get("/api/tags", signal);
    // An open table, a selection and the focus stay where nothing has changed.
    const text = JSON.stringify(report.objects);
    if (text !== told) show(report.objects);
    told = text;
  } catch (error) {
    if (!signal.aborted && !told) showProblem(parts.body, error, () => void read());
  }
}

/** @param {TagsObject[]} objects */
function show(objects) {
  const open = new Set([...parts.body.querySelectorAll("details[open]")].map((each) => each.id));
  setText(parts.note, objects.length ? summarize(objects) : "");
  if (!objects.length) {
    const text = "A CloudMetadata object says which tags cloud resources must have. There is none that you may see.";
    return replace(parts.body, notice("No tags are asked for", h("p", null, text)));
  }
  replace(parts.body, objects.map(buildObject));
  for (const details of parts.body.querySelectorAll("details")) if (open.has(details.id)) details.open = true;
}

/** @param {TagsObject[]} objects */
function summarize(objects) {
  const known = objects.filter((each) => each.counts && each.total !== null);
  const total = known.reduce((sum, each) => sum + Number(each.total), 0);
  const wanted = known.reduce((sum, each) => sum + Number(each.counts?.as_wanted), 0);
  const share = total
    ? `${grouped(wanted)} of ${counted(total, "resource")} as wanted (${percent(wanted, total)})`
    : "";
  const rest = objects.length - known.length;
  return [counted(objects.length, "object"), share, rest ? `${rest} not looked at yet` : ""]
    .filter(Boolean)
    .join(" · ");
}

/** @param {TagsObject} object */
function buildObject(object) {
  const title = `tags-${object.key}`;
  return h(
    "section",
    { class: "panel tag-object", "aria-labelledby": title },
    h(
      "div",
      { class: "panel-head" },
      h("h2", { id: title }, objectLink(object.key)),
      stateBadge(object.phase),
      h(
        "span",
        { class: "muted" },
        object.looked === null ? "not looked at yet" : ["looked at ", ageSince(object.looked, context.now()), " ago"],
      ),
    ),
    object.counts && buildShare(object.counts, Number(object.total)),
    object.open.length > 0 &&
      h(
        "ul",
        { class: "open-points" },
        object.open.map((text) => h("li", null, longText(text))),
      ),
    buildTable(object, "conflicts", "In conflict", LEFT_COLUMNS, object.conflicts),
    buildTable(object, "trimmed", "Trimmed by a limit of the cloud", LEFT_COLUMNS, object.trimmed),
    buildTable(object, "repairs", repairTitle(object), REPAIR_COLUMNS, object.repairs ?? []),
    Boolean(object.unlisted) &&
      h(
        "p",
        { class: "muted" },
        `${counted(Number(object.unlisted), "more tag")} in conflict or trimmed, not listed here.`,
      ),
  );
}

/** @param {TagsObject} object */
function repairTitle(object) {
  const listed = object.repairs?.length ?? 0;
  const before = (object.repaired ?? listed) - listed;
  return before > 0 ? `Drift repaired: the last ${listed} of ${grouped(listed + before)}` : "Drift repaired";
}

/** @param {Counts} counts @param {number} total */
function buildShare(counts, total) {
  const shown = STANDINGS.filter(({ id }) => counts[id] || id === "as_wanted");
  return h(
    "div",
    { class: "tag-share" },
    h("p", { class: "tag-percent" }, total ? percent(counts.as_wanted, total) : "–"),
    h(
      "div",
      null,
      total
        ? shareBar(STANDINGS.map(({ id, tone }) => ({ tone, count: counts[id] })))
        : h("p", { class: "muted" }, "No resource has its classifiers."),
      h(
        "ul",
        { class: "legend" },
        shown.map(({ id, tone, word, means }) =>
          h(
            "li",
            { class: `tone-${tone}` },
            h("span", { class: "swatch", "aria-hidden": "true" }),
            h(
              "span",
              null,
              h("strong", null, grouped(counts[id])),
              ` ${word}`,
              id !== "as_wanted" && h("span", { class: "muted" }, `: ${means}`),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @typedef {{title: string, cell: (entry: any) => import("./dom.js").Child}} Column */

/** @type {Column[]} */
const LEFT_COLUMNS = [
  { title: "Resource", cell: (entry) => shortText(entry.resource, "mono") },
  { title: "Tag", cell: (entry) => shortText(entry.tag || "all of them") },
  { title: "Is", cell: (entry) => buildValue(entry.is) },
  { title: "Asked for", cell: (entry) => buildValue(entry.wanted) },
  { title: "Why", cell: (entry) => longText(entry.why) },
];
/** @type {Column[]} */
const REPAIR_COLUMNS = [
  { title: "Resource", cell: (entry) => shortText(entry.resource, "mono") },
  { title: "Tag", cell: (entry) => shortText(entry.tag) },
  { title: "Was → is again", cell: (entry) => buildChange(entry.was, entry.is) },
  { title: "When", cell: (entry) => [ageSince(entry.at, context.now()), " ago"] },
];

/**
 * @param {TagsObject} object @param {string} id @param {string} title @param {Column[]} columns @param {any[]} entries
 */
function buildTable(object, id, title, columns, entries) {
  if (!entries.length) return null;
  const rows = entries.map((entry, index) =>
    h(
      "tr",
      { hidden: index >= FEW },
      columns.map(({ title: name, cell }) => h("td", { data: { title: name } }, cell(entry))),
    ),
  );
  const more = h(
    "button",
    { type: "button", class: "quiet", hidden: entries.length <= FEW, on: { click: showAll } },
    `Show all ${grouped(entries.length)}`,
  );
  function showAll() {
    for (const row of rows) row.hidden = false;
    more.hidden = true;
  }
  return h(
    "details",
    { class: "finding", id: `${id}-${object.key}` },
    h("summary", null, title, h("span", { class: "count" }, grouped(entries.length))),
    h(
      "table",
      { class: "table" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          columns.map((column) => h("th", { scope: "col" }, column.title)),
        ),
      ),
      h("tbody", null, rows),
    ),
    more,
  );
}
