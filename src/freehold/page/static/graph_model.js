/** The resources of an object as a graph: what is drawn of them, and between which cards a line runs. Pure. */

import { findWaits, isSettled } from "./resources.js";

/**
 * @typedef {object} Drift
 * @property {string} field
 * @property {string} before
 * @property {string} after
 * @property {number | null} at
 *
 * @typedef {object} Resource
 * @property {string} key
 * @property {string} kind
 * @property {string} name
 * @property {string} id
 * @property {string} state
 * @property {string} reason
 * @property {string} message
 * @property {string} ownership
 * @property {string} proof
 * @property {number | null} since
 * @property {string[]} waits_for
 * @property {string[]} requires
 * @property {Drift[]} drift
 *
 * @typedef {object} Card  What is drawn as one: a resource, or several that are alike.
 * @property {string} id
 * @property {Resource[]} members
 *
 * @typedef {object} Line  From a card to the one that needs it.
 * @property {string} from
 * @property {string} to
 * @property {"" | "to" | "from"} waits  which end waits for the other
 *
 * @typedef {{cards: Card[], lines: Line[]}} Graph
 */

/** So many alike are drawn as one card. */
const MANY = 5;

/** Up to here every resource has its own card. */
const ALL_SHOWN = 40;

/**
 * Decide what is drawn.
 * @param {Resource[]} resources
 * @param {{unsettledOnly: boolean, opened: ReadonlySet<string>}} choice  `opened`: groups whose members are drawn
 * @returns {Graph}
 */
export function buildGraph(resources, choice) {
  const shown = choice.unsettledOnly ? resources.filter((each) => !isSettled(each)) : resources;
  const cards = shown.length > ALL_SHOWN ? groupAlike(shown, choice.opened) : shown.map(singleCard);
  return { cards, lines: findLines(resources, cards) };
}

/** @param {Resource} resource @returns {Card} */
function singleCard(resource) {
  return { id: resource.key, members: [resource] };
}

/**
 * @param {Resource[]} resources @param {ReadonlySet<string>} opened @returns {Card[]}
 */
function groupAlike(resources, opened) {
  /** @type {Map<string, Resource[]>} */
  const groups = new Map();
  for (const each of resources) {
    const id = groupOf(each);
    groups.set(id, [...(groups.get(id) ?? []), each]);
  }
  return [...groups].flatMap(([id, members]) =>
    members.length >= MANY && !opened.has(id) ? [{ id, members }] : members.map(singleCard),
  );
}

/**
 * Name the group of a resource. Its state takes no part, unless it is blocked: while states change, cards keep still.
 * @param {Resource} resource @returns {string}
 */
export function groupOf(resource) {
  const needs = [...new Set(resource.requires.map((key) => key.slice(0, key.indexOf("/"))))].sort();
  const blocked = resource.state === "Blocked" ? "blocked" : "";
  return `group:${[resource.kind, resource.ownership, blocked, ...needs].join("|")}`;
}

/**
 * Find the lines between cards. What is needed only by way of others has no line; where those are not drawn, it has.
 * @param {Resource[]} resources @param {Card[]} cards @returns {Line[]}
 */
function findLines(resources, cards) {
  const cardOf = new Map(cards.flatMap((card) => card.members.map((each) => [each.key, card.id])));
  const needs = needsOfCards(resources, cardOf);
  const waits = waitsOfCards(resources, cardOf);
  /** @type {Line[]} */
  const lines = [];
  for (const [to, sources] of reduceNeeds(needs)) for (const from of sources) lines.push({ from, to, waits: "" });
  for (const line of lines) {
    if (waits.get(line.to)?.has(line.from)) line.waits = "to";
    else if (waits.get(line.from)?.has(line.to)) line.waits = "from";
  }
  const reach = new Map([...needs.keys()].map((id) => [id, reachFrom(id, needs)]));
  for (const [to, sources] of waits) {
    for (const from of sources) {
      if (!reach.get(to)?.has(from) && !reach.get(from)?.has(to)) lines.push({ from, to, waits: "to" });
    }
  }
  return lines;
}

/**
 * Return what each card needs. A resource that is not drawn is passed through to what it needs.
 * @param {Resource[]} resources @param {Map<string, string>} cardOf @returns {Map<string, Set<string>>}
 */
function needsOfCards(resources, cardOf) {
  const byKey = new Map(resources.map((each) => [each.key, each]));
  const needs = new Map([...cardOf.values()].map((id) => [id, new Set()]));
  for (const [key, id] of cardOf) {
    const seen = new Set([key]);
    const open = [...(byKey.get(key)?.requires ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      const card = cardOf.get(next);
      if (card === undefined) open.push(...(byKey.get(next)?.requires ?? []));
      else if (card !== id) needs.get(id)?.add(card);
    }
  }
  return needs;
}

/** @param {Resource[]} resources @param {Map<string, string>} cardOf @returns {Map<string, Set<string>>} */
function waitsOfCards(resources, cardOf) {
  const waits = new Map();
  for (const resource of resources) {
    const to = cardOf.get(resource.key);
    for (const key of findWaits(resource, resources)) {
      const from = cardOf.get(key);
      if (to === undefined || from === undefined || to === from) continue;
      if (!waits.has(to)) waits.set(to, new Set());
      waits.get(to).add(from);
    }
  }
  return waits;
}

/**
 * Leave out what is also needed by way of another need. In a circle nothing is left out.
 * @param {Map<string, Set<string>>} needs @returns {Map<string, string[]>}
 */
export function reduceNeeds(needs) {
  const reach = new Map([...needs.keys()].map((id) => [id, reachFrom(id, needs)]));
  return new Map(
    [...needs].map(([id, direct]) => {
      const apart = [...direct].filter(
        (each) => ![...direct].some((via) => via !== each && reach.get(via)?.has(each) && !reach.get(each)?.has(via)),
      );
      return [id, apart];
    }),
  );
}

/**
 * @param {string} start @param {Map<string, Set<string>>} needs @returns {Set<string>} all that it needs, by any way
 */
function reachFrom(start, needs) {
  const found = new Set();
  const open = [...(needs.get(start) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    open.push(...(needs.get(next) ?? []));
  }
  return found;
}
