/**
 * Domain time, as the server tells it. With simulated clouds it runs faster than a wall clock, so its rate is measured.
 */

/** Seconds for which a time is carried on without news: what is shown must not age as if it were still known. */
const CARRY_ON = 6;

export class Clock {
  /** @type {{now: number, wall: number} | null} */
  #told = null;
  /** @type {{now: number, wall: number} | null} */
  #anchor = null;
  #rate = 1;

  /** @param {number} now  domain time of a message that has just come */
  note(now) {
    const told = { now, wall: performance.now() / 1000 };
    this.#told = told;
    this.#anchor ??= told;
    const passed = told.wall - this.#anchor.wall;
    if (passed < 2) return;
    this.#rate = Math.max(0, (told.now - this.#anchor.now) / passed);
    this.#anchor = told;
  }

  /** @returns {number} epoch seconds */
  now() {
    if (!this.#told) return Date.now() / 1000;
    const passed = performance.now() / 1000 - this.#told.wall;
    return this.#told.now + Math.min(passed, CARRY_ON) * this.#rate;
  }
}
