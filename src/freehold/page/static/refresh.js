/** Reading again of what has no stream of its own: soon after a change, and now and then while somebody looks. */

const SOON = 1000;
const NOW_AND_THEN = 30_000;

export class Refresher {
  #soon = 0;
  #regular = 0;

  /** @param {() => unknown} read */
  constructor(read) {
    this.read = read;
    this.#regular = setInterval(() => document.hidden || read(), NOW_AND_THEN);
  }

  /** Read once, a moment from now; changes until then are in it. */
  soon() {
    this.#soon ||= setTimeout(() => ((this.#soon = 0), this.read()), SOON);
  }

  end() {
    clearTimeout(this.#soon);
    clearInterval(this.#regular);
  }
}
