/** Texts of times, ages and counts. Times are epoch seconds; ages are seconds. Pure. */

const NUMBER = new Intl.NumberFormat("en");

/** @param {number} count @param {string} one @param {string} [many] @returns {string} such as "1,000 objects" */
export function counted(count, one, many = `${one}s`) {
  return `${NUMBER.format(count)} ${count === 1 ? one : many}`;
}

/** @param {number} number @returns {string} */
export function grouped(number) {
  return NUMBER.format(number);
}

/**
 * Return an age in its two largest units, such as "3 h 12 min"; a space that does not break is between them.
 * @param {number} seconds
 * @returns {string}
 */
export function age(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return pair(s, 60, "min", 1, "s", s < 600);
  if (s < 86400) return pair(s, 3600, "h", 60, "min", true);
  if (s < 86400 * 30) return pair(s, 86400, "d", 3600, "h", s < 86400 * 7);
  return `${Math.floor(s / 86400)} d`;
}

/**
 * @param {number} s @param {number} large @param {string} name @param {number} small @param {string} rest
 * @param {boolean} both
 */
function pair(s, large, name, small, rest, both) {
  const whole = Math.floor(s / large);
  const part = Math.floor((s % large) / small);
  return both && part ? `${whole} ${name} ${part} ${rest}` : `${whole} ${name}`;
}

/** @param {number} seconds @returns {string} local time of day, HH:MM:SS */
export function clockTime(seconds) {
  const date = new Date(seconds * 1000);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
}

/** @param {number} seconds @returns {string} local day, YYYY-MM-DD */
export function day(seconds) {
  const date = new Date(seconds * 1000);
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}

/** @param {number} seconds @returns {string} local day and time */
export function dateTime(seconds) {
  return `${day(seconds)} ${clockTime(seconds)}`;
}

/**
 * Return a share as a whole percentage that is 100 or 0 only if it is all or nothing.
 * @param {number} part @param {number} total @returns {string}
 */
export function percent(part, total) {
  if (!total) return "–";
  const rounded = Math.round((100 * part) / total);
  return `${part > 0 && part < total ? Math.min(Math.max(rounded, 1), 99) : rounded}\u00a0%`;
}

/** @param {number} number */
function twoDigits(number) {
  return String(number).padStart(2, "0");
}
