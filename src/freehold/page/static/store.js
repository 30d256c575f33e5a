/** Rows of all objects that the viewer may see, kept current by the feed. Views subscribe to it. */

/**
 * @typedef {"Ready" | "Progressing" | "Blocked" | "Paused" | "Deleting"} Phase
 * @typedef {"credentials" | "conflict" | "blocked" | "stuck-delete" | "paused"} Urgency
 *
 * @typedef {object} Need  What somebody must do.
 * @property {Urgency} urgency
 * @property {string} what
 * @property {string} do
 * @property {string} command
 * @property {number | null} since
 *
 * @typedef {object} Row
 * @property {string} key  "Kind/namespace/name"
 * @property {string} kind
 * @property {string} namespace
 * @property {string} name
 * @property {Phase} phase
 * @property {string} reason
 * @property {number | null} since
 * @property {number | null} created
 * @property {number | null} deleting_since
 * @property {number} done
 * @property {number} total
 * @property {string} cloud
 * @property {string} place
 * @property {string} cluster  name of the Cluster it belongs to, or ""
 * @property {string} version  its resourceVersion
 * @property {Need[]} needs
 *
 * @typedef {object} Change
 * @property {boolean} all  everything may have changed
 * @property {ReadonlySet<string>} keys  keys that are new, changed or gone
 */

export class Store {
  /** @type {Map<string, Row>} */
  rows = new Map();
  /** True once the objects were read for the first time. */
  loaded = false;
  /** Number of changes so far; a view may compare it. */
  revision = 0;
  /** @type {Set<(change: Change) => void>} */
  #subscribers = new Set();

  /** @param {Row[]} rows */
  fill(rows) {
    this.rows = new Map(rows.map((row) => [row.key, row]));
    this.loaded = true;
    this.#tell({ all: true, keys: new Set() });
  }

  /** @param {Row[]} changed @param {string[]} gone */
  apply(changed, gone) {
    for (const row of changed) this.rows.set(row.key, row);
    for (const key of gone) this.rows.delete(key);
    this.#tell({ all: false, keys: new Set([...changed.map((row) => row.key), ...gone]) });
  }

  /** Forget everything: another viewer may have other rights. */
  clear() {
    this.rows = new Map();
    this.loaded = false;
    this.#tell({ all: true, keys: new Set() });
  }

  /**
   * @param {(change: Change) => void} subscriber
   * @returns {() => void} what ends the subscription
   */
  subscribe(subscriber) {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /** @param {Change} change */
  #tell(change) {
    this.revision += 1;
    for (const subscriber of [...this.#subscribers]) subscriber(change);
  }
}
