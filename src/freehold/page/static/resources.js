/** Words and order of the states of resources, and of whose they are; how a state looks is in states.js. Pure. */

/** States that ask for nothing more: what is in one of them is left out by "only what is not Ready". */
const SETTLED = new Set(["Ready", "Gone", "NotCreated"]);

/** From what a person should see first to what needs no look; a state that is not here comes before all. */
const GRAVITY = ["Blocked", "Unknown", "Surplus", "Deleting", "Waiting", "Kept", "NotCreated", "Gone", "Ready"];

/** @type {Record<string, {word: string, meaning: string}>} */
const OWNERSHIPS = {
  managed: { word: "managed", meaning: "made by Freehold for this object, and deleted with it" },
  shared: {
    word: "shared",
    meaning: "made by Freehold and deleted with it; the cluster's own cloud provider uses it too",
  },
  unmanaged: { word: "given", meaning: "was there before: it is used, never changed and never deleted" },
  unknown: { word: "undecided", meaning: "nothing proves yet whose it is" },
};

/** @param {string} state @returns {string} */
export function wordOf(state) {
  return state === "NotCreated" ? "Not created" : state || "Unknown";
}

/** @param {string} ownership @returns {{word: string, meaning: string}} */
export function ownershipOf(ownership) {
  return Object.hasOwn(OWNERSHIPS, ownership) ? OWNERSHIPS[ownership] : { word: ownership, meaning: "" };
}

/** @param {{state: string, reason: string}} resource @returns {boolean} whether nobody has to look at it */
export function isSettled({ state, reason }) {
  return SETTLED.has(state) && reason !== "Drifted";
}

/**
 * Say in a word whether something of a resource is, or was, other than wanted; "" if not.
 * @param {{reason: string, drift: unknown[]}} resource @returns {string}
 */
export function sayDrift({ reason, drift }) {
  return reason === "Drifted" ? "drifted" : drift.length ? "repaired" : "";
}

/**
 * Return the keys of those that a resource waits for. In a delete it may be said only by its reason: then they are
 * those that need it and have not gone.
 * @param {import("./graph_model.js").Resource} resource @param {import("./graph_model.js").Resource[]} all
 * @returns {string[]}
 */
export function findWaits(resource, all) {
  if (resource.waits_for.length || resource.reason !== "WaitingForDependents") return resource.waits_for;
  return all.filter((each) => each.state !== "Gone" && each.requires.includes(resource.key)).map((each) => each.key);
}

/** @param {string[]} states @returns {string} the one that a person should see first */
export function gravest(states) {
  return states.reduce((worst, each) => (GRAVITY.indexOf(each) < GRAVITY.indexOf(worst) ? each : worst));
}

/** @param {string[]} states @returns {[string, number][]} how many are in each, the gravest first */
export function countStates(states) {
  const counts = new Map();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => GRAVITY.indexOf(one) - GRAVITY.indexOf(other));
}

/**
 * Return what so many names begin with that they need not say it: the object's own, with the dash.
 * @param {string[]} names @param {string} name  of the object @returns {string} or ""
 */
export function sharedPrefix(names, name) {
  const prefix = `${name}-`;
  const count = names.filter((each) => each.startsWith(prefix) && each.length > prefix.length).length;
  return 2 * count > names.length ? prefix : "";
}

/** @param {string} key  "kind/name" @returns {[string, string]} */
export function splitKey(key) {
  const at = key.indexOf("/");
  return at < 0 ? ["", key] : [key.slice(0, at), key.slice(at + 1)];
}
