/**
 * The page's frame: token, feed, routes, connection, and the view in <main>.
 *
 * Views. A view is a module that exports
 *
 *     mount(root, context)     fill `root`, an empty element of its own, and subscribe to what it needs
 *     navigate(context)        optional: the route has changed within this view (its query, its object or its tab);
 *                              without it the view is unmounted and mounted again
 *     unmount()                end subscriptions, timers and requests; the elements are taken away by app.js
 *
 * `mount` and `navigate` may be async; a rejection is shown as a problem with "Try again". app.js imports a view when
 * its route is first shown: `object` is cluster.js (both tabs), and brings its own style sheet.
 *
 * Context (one object for the life of the page; `route` changes):
 *
 *     api       Api: await api.get("/api/…", signal) → JSON, throws Problem {status, message: the server's sentence}
 *     store     Store: store.rows (Map key → Row), store.loaded, store.subscribe(({all, keys}) => …) → unsubscribe
 *     session   Session: session.info is the answer of /api/session
 *     route     Route: {view, path, key, tab, query: URLSearchParams} (route.js; objectPath(key) makes API paths)
 *     now()     domain time in epoch seconds
 *     go(hash, {replace})   change the route; `replace` leaves no step in the history (filters)
 *     announce(text)        say something to a screen reader
 *     title(text)           name the page
 *
 * Elements are built with dom.js (h, svg, replace, datum), never from markup. Ages are built with ageSince of parts.js
 * and kept current here. States have their colour, shape and word in states.js; colours, type and space are custom
 * properties at the head of style.css. Links to objects: objectLink (parts.js) or objectHref (route.js).
 */

import { Api, Problem } from "./api.js";
import { Clock } from "./clock.js";
import { buildBanner, showFoot, showStatus } from "./connection.js";
import { h, replace } from "./dom.js";
import { Feed } from "./feed.js";
import { notice, refreshAges, showProblem } from "./parts.js";
import { parseRoute } from "./route.js";
import { Session, askForToken } from "./session.js";
import { Store } from "./store.js";

const LOADERS = {
  overview: () => import("./overview.js"),
  object: () => import("./cluster.js"),
  tags: () => import("./tags.js"),
  audit: () => import("./audit.js"),
};
const TITLES = { overview: "Objects", object: "Object", tags: "Tags", audit: "Audit" };

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const live = /** @type {HTMLElement} */ (document.getElementById("live"));
const status = /** @type {HTMLElement} */ (document.getElementById("status"));
const session = new Session();
const store = new Store();
const clock = new Clock();
const api = new Api(() => session.token);
const feed = new Feed(api, store, clock, { onSession, onConnection });
const banner = buildBanner(document.getElementById("banner"), () => feed.retryNow());

const context = {
  api,
  store,
  session,
  route: parseRoute("#/"),
  now: () => clock.now(),
  go,
  announce: (/** @type {string} */ text) => replace(live, text),
  title: (/** @type {string} */ text) => (document.title = text ? `${text} · Freehold` : "Freehold"),
};

/** @type {{name: string, module: any, root: HTMLElement} | null} */
let shown = null;
/** Where the page was scrolled to when a route was left, by hash: "back" returns there. @type {Map<string, number>} */
const scrolled = new Map();
/** Whether the route changes by a link of the page rather than by the browser's history. */
let byLink = false;
let hashBefore = location.hash;
/** Version of the operator that served this page's files. */
let servedVersion = "";
/** Counts routes, so that a module that loads slowly does not replace a newer view. */
let turn = 0;

/** @param {string} hash @param {{replace?: boolean}} [options] */
function go(hash, options = {}) {
  if (hash === location.hash) return;
  if (options.replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  byLink = true;
  void showRoute();
}

async function showRoute() {
  if (session.takeFromAddress()) open();
  if (!session.token || feed.connection.state === "refused") return;
  const route = parseRoute(location.hash);
  context.route = route;
  const top = byLink ? 0 : (scrolled.get(location.hash) ?? 0);
  scrolled.set(hashBefore, scrollY);
  hashBefore = location.hash;
  byLink = false;
  markNavigation(route);
  if (route.view === "unknown") return showUnknown();
  const mine = ++turn;
  if (shown?.name === route.view && shown.module?.navigate) {
    return attempt(shown.root, () => shown.module.navigate(context));
  }
  if (shown) main.focus({ preventScroll: true }); // a screen reader goes on from here
  leave();
  const root = h("div", { class: `view view-${route.view}` });
  replace(main, root);
  shown = { name: route.view, module: null, root };
  context.title(TITLES[route.view]);
  await attempt(root, async () => {
    const module = await load(route.view);
    if (mine !== turn || shown?.root !== root) return;
    shown.module = module;
    await module.mount(root, context);
    scrollTo(0, top);
  });
}

/** @param {keyof typeof LOADERS} view */
async function load(view) {
  try {
    return await LOADERS[view]();
  } catch (error) {
    console.error(error);
    throw new Problem(0, "This part of the page could not be loaded.");
  }
}

/** @param {HTMLElement} root @param {() => Promise<void>} act */
async function attempt(root, act) {
  try {
    await act();
  } catch (error) {
    if (!root.isConnected || error?.name === "AbortError") return;
    // A Problem is the server's sentence, which is shown; anything else is a defect of the page.
    if (!(error instanceof Problem)) console.error(error);
    showProblem(root, error, () => (leave(), void showRoute()), TITLES[context.route.view]);
  }
}

function leave() {
  shown?.module?.unmount();
  shown = null;
  main.replaceChildren();
}

function showUnknown() {
  leave();
  replace(
    main,
    h("h1", { class: "view-title" }, "There is no such view"),
    notice("Nothing is shown here", "The address may be cut off, or of another version of this page."),
  );
}

/** @param {import("./route.js").Route} route */
function markNavigation(route) {
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === route.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Begin with a new token. */
function open() {
  leave();
  status.hidden = false;
  store.clear();
  session.info = null;
  feed.start();
}

/** @param {string} refusal */
function ask(refusal) {
  feed.stop();
  leave();
  document.getElementById("nav").hidden = true;
  document.getElementById("foot").replaceChildren();
  status.hidden = true;
  context.title("Token");
  askForToken(main, refusal, (token) => {
    session.token = token;
    open();
    main.focus();
    void showRoute();
  });
}

/** @param {import("./session.js").SessionInfo} info */
function onSession(info) {
  servedVersion ||= info.version;
  session.info = info;
  document.getElementById("nav").hidden = false;
  showFoot(document.getElementById("foot"), info);
  showConnection();
}

/** @param {import("./feed.js").Connection} connection */
function onConnection(connection) {
  if (connection.state === "refused") {
    session.token = "";
    store.clear();
    ask(connection.problem);
  }
  if (connection.state === "live") context.announce("Connected");
  if (connection.state === "lost" && !connection.retry) return;
  showConnection();
}

function showConnection() {
  showStatus(status, feed.connection, session.info, context.now());
  banner(feed.connection, Boolean(session.info) && session.info?.version !== servedVersion);
}

history.scrollRestoration = "manual";
document.addEventListener("click", (event) => (byLink ||= Boolean(event.target.closest?.("a[href^='#']"))), {
  capture: true,
});
addEventListener("hashchange", () => void showRoute());
document.getElementById("skip").addEventListener("click", (event) => {
  // The hash is the route: the link must not replace it.
  event.preventDefault();
  main.focus();
});
setInterval(() => {
  if (document.hidden) return;
  refreshAges(context.now());
  showConnection();
}, 1000);

if (session.takeFromAddress() || session.token) {
  open();
  void showRoute();
} else {
  ask("");
}
