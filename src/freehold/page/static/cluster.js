/** The view of one object: its head, its resources, its timeline; in its other tab what a delete would do. */

import { Problem } from "./api.js";
import { buildFacts, buildGone, buildNeeds, buildTitle } from "./cluster_head.js";
import { buildDeletion, noDeletion } from "./deletion.js";
import { h, replace } from "./dom.js";
import { ResourcesView, readChoice, writeChoice } from "./resources_view.js";
import { hrefWith, objectPath } from "./route.js";
import { sharedPrefix } from "./resources.js";
import { Timeline } from "./timeline.js";

/** Milliseconds for which changes are gathered before the object is read again. */
const GATHER = 150;
/** Milliseconds between two updates of the ages that are drawn. */
const TICK = 2000;

/** @type {View | null} */
let view = null;

/** @param {HTMLElement} root @param {any} context */
export async function mount(root, context) {
  const mine = new View(root, context);
  view = mine;
  await Promise.all([loadStyle(), mine.read()]);
}

/** @param {any} context */
export async function navigate(context) {
  if (view?.key === context.route.key && view?.tab === context.route.tab) return view?.choose();
  const root = view?.root;
  const focused = root?.contains(document.activeElement);
  unmount();
  if (!root) return;
  await mount(root, context);
  const tab = root.querySelector(".tabs [aria-current]");
  if (focused && tab instanceof HTMLElement) tab.focus();
}

export function unmount() {
  view?.end();
  view = null;
}

class View {
  #stop = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #reading = false;
  #stale = false;
  /** @type {Record<string, string>} */
  #shown = {};
  #phase = "";
  #gone = false;
  /** @type {any} */
  #detail = null;

  /** @param {HTMLElement} root @param {any} context */
  constructor(root, context) {
    this.root = root;
    this.context = context;
    this.key = context.route.key;
    this.tab = context.route.tab;
    this.head = h("header", { class: "object-head" });
    this.needs = h("div");
    this.facts = h("div", { class: "object-about" });
    this.body = h("div", { class: "object-body" });
    this.gone = h("div");
    this.resources = new ResourcesView(readChoice(context.route.query), (choice) => this.#write(choice));
    this.timeline = new Timeline();
    replace(root, this.gone, this.head, this.needs, this.facts, this.body);
    const end = context.store.subscribe((/** @type {import("./store.js").Change} */ change) => this.#onChange(change));
    const ticking = setInterval(() => this.#tick(), TICK);
    this.#stop.signal.addEventListener("abort", () => (end(), clearInterval(ticking), clearTimeout(this.#timer)));
    context.title(this.key.split("/").slice(2).join("/"));
    this.#showHead();
  }

  end() {
    this.#stop.abort();
  }

  /** Show what the address asks for now. */
  choose() {
    return this.resources.choose(readChoice(this.context.route.query));
  }

  /** Read the object, and show it. A change that comes meanwhile is read after it. */
  async read() {
    this.#reading = true;
    this.#stale = false;
    const path = `/api/objects${objectPath(this.key)}`;
    try {
      const [detail, plan] = await Promise.all([
        this.context.api.get(path, this.#stop.signal),
        this.tab && this.context.api.get(`${path}/deletion`, this.#stop.signal),
      ]);
      this.#detail = detail;
      this.#gone = false;
      replace(this.gone);
      await this.#show(detail, plan);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (!this.#detail) throw error;
      // The connection is lost, which the frame says, or the object has gone.
      if (error instanceof Problem && error.status === 404) this.#showGone();
    } finally {
      this.#reading = false;
      if (this.#stale) this.#readSoon();
    }
  }

  /** @param {any} detail @param {any} plan */
  async #show(detail, plan) {
    const now = this.context.now();
    const where = this.context.session.info?.where ?? "";
    this.#showHead();
    this.#once("needs", detail.row.needs, () => replace(this.needs, buildNeeds(detail.row.needs, where, now)));
    if (this.tab) {
      const deleting = detail.row.deleting_since !== null;
      replace(this.facts);
      return this.#once("plan", [plan, deleting], () =>
        replace(this.body, ...(plan ? buildDeletion(plan, deleting, where) : [noDeletion("It is not known yet.")])),
      );
    }
    this.#once("facts", [detail.row, detail.conditions, detail.notes, detail.endpoint, detail.account], () =>
      this.#showFacts(detail, now),
    );
    if (!this.body.contains(this.resources.element)) replace(this.body, this.resources.element, this.timeline.element);
    this.timeline.update(detail.history, now, this.#prefix());
    await this.resources.update(detail.resources, detail.row.name, now);
  }

  #showHead() {
    const row = this.#gone ? undefined : (this.context.store.rows.get(this.key) ?? this.#detail?.row);
    this.#once("head", row, () => replace(this.head, ...buildTitle(this.key, row, this.tab, this.context.now())));
    if (row && this.#phase && row.phase !== this.#phase) this.context.announce(`${row.name} is ${row.phase}`);
    this.#phase = row?.phase ?? "";
  }

  /** @param {any} detail @param {number} now */
  #showFacts(detail, now) {
    const open = this.facts.querySelector("details")?.open ?? false;
    replace(this.facts, ...buildFacts(detail, now));
    const fold = this.facts.querySelector("details");
    if (fold) fold.open = open;
  }

  /** Say that the object has gone; what was last known of it stays, as of then. */
  #showGone() {
    if (this.#gone) return;
    this.#gone = true;
    replace(this.gone, buildGone(this.key, this.context.now()));
    this.#once("needs", [], () => replace(this.needs));
    this.#showHead();
  }

  /**
   * Build a part only if what it shows is new: selections, folds and the focus stay.
   * @param {string} part @param {unknown} data @param {() => void} build
   */
  #once(part, data, build) {
    const shown = JSON.stringify(data) ?? "";
    if (this.#shown[part] === shown) return;
    this.#shown[part] = shown;
    build();
  }

  #prefix() {
    return sharedPrefix(
      this.#detail.resources.map((/** @type {{name: string}} */ each) => each.name),
      this.#detail.row.name,
    );
  }

  /** @param {import("./store.js").Change} change */
  #onChange({ all, keys }) {
    if (!all && !keys.has(this.key)) return;
    this.#showHead();
    if (this.#reading) this.#stale = true;
    else this.#readSoon();
  }

  #readSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.read().catch(() => {}), GATHER);
  }

  #tick() {
    if (document.hidden || !this.#detail || this.#gone || this.tab) return;
    const now = this.context.now();
    this.timeline.update(this.#detail.history, now, this.#prefix());
    this.resources.tick(now);
  }

  /** @param {import("./resources_view.js").Choice} choice */
  #write(choice) {
    this.context.go(hrefWith(this.context.route.path, writeChoice(choice)), { replace: true });
  }
}

/** @returns {Promise<void>} when the style sheet of this view is there, or failed */
function loadStyle() {
  if (document.getElementById("cluster-style")) return Promise.resolve();
  return new Promise((resolve) => {
    const link = h("link", {
      id: "cluster-style",
      rel: "stylesheet",
      href: "/static/cluster.css",
      on: { load: () => resolve(), error: () => resolve() },
    });
    document.head.append(link);
  });
}
