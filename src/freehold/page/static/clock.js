/** Domain time, as the server tells it. With simulated clouds it runs faster than a wall clock. */

/** Wall seconds for which a time is carried on without news: what is shown must not age as if it were still known. */
const CARRY_ON = 6;

export class Clock {
  /** Domain seconds in one of a wall clock. */
  speed = 1;
  /** @type {{now: number, wall: number} | null} */
  #told = null;

  /** @param {number} now  domain time of a message that has just come */
  note(now) {
    this.#told = { now, wall: performance.now() / 1000 };
  }

  /** @returns {number} epoch seconds */
  now() {
    if (!this.#told) return Date.now() / 1000;
    const passed = performance.now() / 1000 - this.#told.wall;
    return this.#told.now + Math.min(passed, CARRY_ON) * this.speed;
  }
}
