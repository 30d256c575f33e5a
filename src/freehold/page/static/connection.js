/** What the frame tells of the connection: the status in the bar, the banner when it is lost, the foot of the page. */

import { datum, h, replace, setText } from "./dom.js";
import { age, clockTime, counted } from "./format.js";
import { shapeMark } from "./states.js";

/** Milliseconds after which a page that connects says that what it shows is old. */
const STALE = 7000;
const WORDS = { connecting: "Connecting", live: "Live", lost: "Connection lost", refused: "No access" };
const MARKS = /** @type {const} */ ({
  connecting: ["turning", "moving"],
  live: ["check", "ready"],
  lost: ["stop", "blocked"],
  refused: ["stop", "blocked"],
});

/**
 * Show the connection, and the domain time where it is simulated.
 * @param {Element} root
 * @param {import("./feed.js").Connection} connection
 * @param {import("./session.js").SessionInfo | null} info
 * @param {number} now
 */
export function showStatus(root, connection, info, now) {
  if (root.dataset.state !== connection.state || !root.firstChild) {
    root.dataset.state = connection.state;
    const [shape, tone] = MARKS[connection.state];
    replace(
      root,
      h("span", {
        class: "sim",
        hidden: true,
        title: "The clouds are simulated: time on this page is theirs, and runs faster",
      }),
      h("span", { class: "connection" }, shapeMark(shape, tone), WORDS[connection.state]),
    );
  }
  const simulated = root.querySelector(".sim");
  simulated.hidden = !info?.simulated;
  if (info?.simulated) setText(simulated, `Simulated ${clockTime(now)}`);
}

/**
 * Build the banner of a lost connection, and of an operator that is newer than this page's files.
 * @param {Element} root
 * @param {() => void} retry
 * @returns {(connection: import("./feed.js").Connection, outdated: boolean) => void}
 */
export function buildBanner(root, retry) {
  const title = h("strong", { role: "alert" });
  const text = h("span", null);
  const again = h("button", { type: "button", class: "button", on: { click: retry } }, "Try now");
  const reload = h("button", { type: "button", class: "button", on: { click: () => location.reload() } }, "Reload");
  const body = h(
    "section",
    { class: "banner", "aria-label": "Connection", hidden: true },
    shapeMark("stop", "blocked"),
    title,
    text,
    again,
    reload,
  );
  replace(root, body);
  return (connection, outdated) => {
    const lost = connection.state === "lost" || isStale(connection);
    body.hidden = !(lost || outdated);
    again.hidden = !lost;
    reload.hidden = lost;
    setText(title, lost ? `${WORDS[connection.state]}.` : outdated ? "The operator was updated." : "");
    setText(text, lost ? describeLoss(connection) : "Reload the page to see it as the new version shows it.");
  };
}

/** Whether a page that connects again shows what is old. @param {import("./feed.js").Connection} connection */
function isStale({ state, heard }) {
  return state === "connecting" && heard > 0 && Date.now() - heard > STALE;
}

/** @param {import("./feed.js").Connection} connection */
function describeLoss(connection) {
  if (connection.state === "connecting") return staleness(connection);
  const wait = Math.ceil((connection.retry - Date.now()) / 1000);
  const next = wait > 0 ? `Trying again in ${wait} s.` : "Trying again …";
  return `${staleness(connection)} ${connection.problem} ${next}`;
}

/** @param {import("./feed.js").Connection} connection */
function staleness(connection) {
  if (!connection.heard) return "Nothing was read yet.";
  return `Shown is as of ${clockTime(connection.heard / 1000)}, ${age((Date.now() - connection.heard) / 1000)} old.`;
}

/** @param {Element} root @param {import("./session.js").SessionInfo} info */
export function showFoot(root, info) {
  const sees = info.everywhere ? "all namespaces" : counted(info.namespaces.length, "namespace");
  replace(
    root,
    h("span", null, "Freehold ", datum(info.version)),
    h("span", null, "Viewer ", datum(info.viewer), `, sees ${sees}`, names(info)),
    h(
      "span",
      null,
      info.leads ? "Served by the operator that leads" : "Served by an operator that follows; another one leads",
      at(info),
    ),
    h("span", null, "Read-only"),
  );
}

/** @param {import("./session.js").SessionInfo} info */
function names(info) {
  if (info.everywhere || !info.namespaces.length) return null;
  const few = info.namespaces.slice(0, 5).join(", ");
  return [": ", datum(info.namespaces.length > 5 ? `${few}, …` : few)];
}

/** @param {import("./session.js").SessionInfo} info */
function at(info) {
  return info.server ? [" (", datum(info.server), ")"] : null;
}
