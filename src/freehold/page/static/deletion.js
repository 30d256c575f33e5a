/** What a delete would do, before anybody asks for it: in its order, what stays and why, what is collected. */

import { datum, h } from "./dom.js";
import { counted } from "./format.js";
import { longText, notice } from "./parts.js";
import { clip, copyText } from "./resource_panel.js";
import { shapeMark } from "./states.js";

/**
 * @typedef {object} Item
 * @property {string} key
 * @property {string} kind
 * @property {string} name
 * @property {string} id
 * @property {"delete" | "keep" | "leave" | "unknown"} action
 * @property {string} why
 *
 * @typedef {object} Deletion
 * @property {Item[][]} waves
 * @property {Item[]} stays
 * @property {{collects: boolean | null, why: string, tasks: string[], seen: string[], command: string}} collection
 * @property {string} command
 * @property {string} plan_command
 * @property {string[]} notes
 */

/**
 * How what becomes of a resource looks and is called.
 * @type {Record<string, [import("./states.js").Shape, import("./states.js").Tone, string]>}
 */
const ACTIONS = {
  delete: ["minus", "deleting", "is deleted"],
  keep: ["dot", "paused", "is kept"],
  leave: ["dot", "quiet", "is left alone"],
  unknown: ["question", "quiet", "is not known"],
};

/**
 * Build the plan.
 * @param {Deletion} plan
 * @param {boolean} deleting  whether the delete was asked for already
 * @param {string} where  which options commands need, or ""
 * @returns {HTMLElement[]}
 */
export function buildDeletion(plan, deleting, where) {
  const count = plan.waves.flat().length;
  const waves = plan.waves.map((wave, index) => buildWave(wave, index, plan.waves.length));
  const goes = h(
    "section",
    { class: "goes", "aria-labelledby": "goes-title" },
    h("h2", { id: "goes-title" }, deleting ? "What is still to go" : "What would go"),
    h(
      "p",
      { class: "muted" },
      count
        ? `${counted(count, "resource")} in ${counted(plan.waves.length, "wave")}: each goes after all that needs it.`
        : "Nothing: no resource is on record as this object's own.",
    ),
    h("ol", { class: "waves" }, waves),
  );
  return [buildCommands(plan, deleting, where), goes, buildStays(plan.stays), buildCollection(plan.collection)];
}

/** @param {Deletion} plan @param {boolean} deleting @param {string} where */
function buildCommands(plan, deleting, where) {
  return h(
    "section",
    { class: "deletion-commands", "aria-labelledby": "deletion-commands-title" },
    h("h2", { id: "deletion-commands-title" }, deleting ? "It is being deleted" : "This page deletes nothing"),
    plan.notes.length > 0 &&
      h(
        "ul",
        { class: "notes" },
        plan.notes.map((note) => h("li", null, longText(note))),
      ),
    where && h("p", { class: "muted" }, datum(where)),
    plan.plan_command && [h("p", null, "Look again in the cloud, and change nothing:"), copyText(plan.plan_command)],
    plan.command && [
      h("p", null, deleting ? "Wait until it has gone:" : "Delete it, and wait until it has gone:"),
      copyText(plan.command),
    ],
  );
}

/** @param {Item[]} wave @param {number} index @param {number} total */
function buildWave(wave, index, total) {
  const why = wave.every((item) => item.why === wave[0].why) ? wave[0].why : "";
  return h(
    "li",
    { class: "wave" },
    h("h3", null, `Wave ${index + 1} of ${total}`, h("span", { class: "muted" }, ` · ${sayKinds(wave)}`)),
    why && h("p", { class: "muted" }, datum(clip(why, 400))),
    h(
      "ul",
      { class: "items" },
      wave.map((item) => buildItem(why ? { ...item, why: "" } : item)),
    ),
  );
}

/** @param {Item[]} items @returns {string} such as "3 × nat-gateway, vpc" */
function sayKinds(items) {
  const counts = new Map();
  for (const { kind } of items) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => (count > 1 ? `${count} × ${clip(kind, 60)}` : clip(kind, 60))).join(", ");
}

/** Build an item; that it is deleted goes without saying in a wave. @param {Item} item */
function buildItem({ kind, name, id, action, why }) {
  const [shape, tone, word] = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : ACTIONS.unknown;
  return h(
    "li",
    { class: "item" },
    shapeMark(shape, tone),
    h(
      "div",
      { class: "item-body" },
      h(
        "p",
        { class: "item-name" },
        datum(clip(name, 240)),
        action !== "delete" && h("span", { class: `item-action tone-${tone}` }, word),
      ),
      h("p", { class: "item-about" }, datum(clip(kind)), id && [" ", datum(clip(id, 240), "mono")]),
      why && longText(why, "item-why"),
    ),
  );
}

/** @param {Item[]} stays */
function buildStays(stays) {
  return h(
    "section",
    { class: "stays", "aria-labelledby": "stays-title" },
    h("h2", { id: "stays-title" }, "What stays, and why"),
    stays.length
      ? h("ul", { class: "items" }, stays.map(buildItem))
      : h("p", { class: "muted" }, "Nothing that is on record stays."),
  );
}

/** @param {Deletion["collection"]} collection */
function buildCollection({ collects, why, tasks, seen, command }) {
  const verdict =
    collects === null
      ? "It is not known whether it is collected."
      : collects
        ? "It is collected with the cluster."
        : "It is not collected: it stays, and costs.";
  return h(
    "section",
    { class: "collection", "aria-labelledby": "collection-title" },
    h("h2", { id: "collection-title" }, "What workloads left in the cloud"),
    h("p", null, h("strong", null, verdict)),
    why && longText(why, "muted"),
    tasks.length > 0 && [
      h("p", null, "What is looked for, in this order:"),
      h(
        "ol",
        { class: "tasks" },
        tasks.map((task) => h("li", null, datum(clip(task, 600)))),
      ),
    ],
    seen.length > 0 && [
      h("p", null, "What this operator saw of it last:"),
      h(
        "ul",
        { class: "tasks" },
        seen.map((each) => h("li", null, datum(clip(each, 600)))),
      ),
    ],
    command && [h("p", null, "Ask the cloud what there is:"), copyText(command)],
  );
}

/** Say that there is no plan. @param {string} why */
export function noDeletion(why) {
  return notice("There is no plan of a delete", h("p", null, datum(why)));
}
