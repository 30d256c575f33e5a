/**
 * A request has two lines in the audit log, one before it is sent and one with its outcome: here they become one. Pure.
 */

/** @typedef {import("./audit.js").Line} Line */

/**
 * Leave out each "sent" whose outcome is known, and note its time at the outcome. A "sent" that stays has no outcome:
 * the operator waits for it, or ended before it came.
 * @param {Line[]} lines  the newest first
 * @returns {(Line & {sent?: number | null})[]}
 */
export function joinRequests(lines) {
  /**
   * Outcomes that still lack their request, the newest first.
   * @type {Map<string, (Line & {sent?: number | null})[]>}
   */
  const open = new Map();
  const joined = [];
  for (const line of lines) {
    const request = JSON.stringify([line.object, line.call, line.resource]);
    const outcome = line.outcome === "sent" ? open.get(request)?.pop() : undefined;
    if (outcome) {
      outcome.sent = line.time;
      continue;
    }
    const copy = { ...line };
    joined.push(copy);
    if (line.call && line.outcome !== "sent") open.set(request, [...(open.get(request) ?? []), copy]);
  }
  return joined;
}
