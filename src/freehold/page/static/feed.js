/** The feed: reads all objects, follows their changes, and comes back after a lost connection. */

import { Problem } from "./api.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;
/** Milliseconds after which a tab that nobody sees ends its stream: a browser has six connections for all its tabs. */
const UNSEEN = 60_000;

/**
 * @typedef {object} Connection  What a person is told of the connection.
 * @property {"connecting" | "live" | "lost" | "refused"} state
 * @property {number} heard  wall time of the last message, in ms since the epoch; 0: none yet
 * @property {number} retry  lost: wall time of the next try, in ms since the epoch; 0: now
 * @property {string} problem  a sentence, or ""
 */

export class Feed {
  /** @type {Connection} */
  connection = { state: "connecting", heard: 0, retry: 0, problem: "" };
  /** @type {AbortController | null} */
  #stop = null;
  #wake = () => {};
  #unseen = 0;
  #rests = false;

  /**
   * @param {import("./api.js").Api} api
   * @param {import("./store.js").Store} store
   * @param {import("./clock.js").Clock} clock
   * @param {{onSession: (session: any) => void, onConnection: (connection: Connection) => void}} listener
   */
  constructor(api, store, clock, listener) {
    this.api = api;
    this.store = store;
    this.clock = clock;
    this.listener = listener;
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => this.#mindTab());
    // A page that the browser keeps for "back" would keep its stream, too.
    addEventListener("pagehide", () => this.#rest());
    addEventListener("pageshow", ({ persisted }) => persisted && this.#goOn());
  }

  start() {
    this.stop();
    this.#set({ state: "connecting", heard: 0, retry: 0, problem: "" });
    this.#begin();
  }

  stop() {
    this.#stop?.abort();
    this.#stop = null;
    this.#rests = false;
  }

  retryNow() {
    this.#wake();
  }

  #begin() {
    this.#stop = new AbortController();
    void this.#run(this.#stop.signal);
  }

  #mindTab() {
    clearTimeout(this.#unseen);
    if (document.hidden) this.#unseen = setTimeout(() => this.#rest(), UNSEEN);
    else if (this.#rests) this.#goOn();
    else this.retryNow();
  }

  /** End the stream until the tab is seen again; what is shown stays, with its age. */
  #rest() {
    if (!this.#stop) return;
    this.stop();
    this.#rests = true;
    this.connection = { ...this.connection, state: "connecting", retry: 0, problem: "" };
  }

  #goOn() {
    if (!this.#rests) return;
    this.#rests = false;
    this.#begin();
  }

  /** @param {AbortSignal} signal */
  async #run(signal) {
    let pause = FIRST_PAUSE;
    while (!signal.aborted) {
      const begun = Date.now();
      try {
        await this.#follow(signal);
        // The server asks to begin again: at once, but not in a loop.
        await this.#sleep(Math.max(0, FIRST_PAUSE - (Date.now() - begun)), signal);
      } catch (error) {
        if (signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, "The page could not read the feed.");
        if (!(error instanceof Problem)) console.error(error);
        if (problem.refused) return this.#set({ ...this.connection, state: "refused", problem: problem.message });
        if (this.connection.heard > begun) pause = FIRST_PAUSE;
        const wait = pause * (0.75 + Math.random() / 2);
        this.#set({ ...this.connection, state: "lost", retry: Date.now() + wait, problem: problem.message });
        await this.#sleep(wait, signal);
        if (signal.aborted) return;
        pause = Math.min(pause * 2, LONGEST_PAUSE);
        this.#set({ ...this.connection, retry: 0 });
      }
    }
  }

  /**
   * Read everything, then its changes, until the stream fails. A server that has restarted counts anew, so nothing
   * of an earlier stream is taken up again.
   * @param {AbortSignal} signal
   */
  async #follow(signal) {
    const [session, objects] = await Promise.all([
      this.api.get("/api/session", signal),
      this.api.get("/api/objects", signal),
    ]);
    this.clock.speed = session.speed ?? 1;
    this.clock.note(objects.now);
    this.listener.onSession(session);
    this.store.fill(objects.rows);
    this.#heard();
    for await (const { name, data } of this.api.stream(`/api/stream?after=${objects.seq}`, signal)) {
      if (name === "reset") return;
      if (typeof data.now === "number") this.clock.note(data.now);
      if (name === "rows") this.store.apply(data.changed ?? [], data.gone ?? []);
      this.#heard();
    }
    throw new Problem(0, "The server ended the stream.");
  }

  #heard() {
    const live = this.connection.state === "live";
    this.connection = { state: "live", heard: Date.now(), retry: 0, problem: "" };
    if (!live) this.listener.onConnection(this.connection);
  }

  /** @param {Connection} connection */
  #set(connection) {
    this.connection = connection;
    this.listener.onConnection(connection);
  }

  /** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
  #sleep(ms, signal) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => (clearTimeout(timer), resolve());
      signal.addEventListener("abort", this.#wake, { once: true });
    });
  }
}
