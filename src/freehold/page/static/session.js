/** The token of the viewer, and the form that asks for one. */

import { datum, h, replace } from "./dom.js";
import { copyable } from "./parts.js";

const STORED = "freehold.token";

/**
 * @typedef {object} SessionInfo  Answer of /api/session.
 * @property {string} version
 * @property {number} now
 * @property {boolean} simulated
 * @property {number} speed  domain seconds in one of a wall clock
 * @property {string} where  a sentence: which options the commands on this page need, or ""
 * @property {string} viewer
 * @property {boolean} everywhere
 * @property {string[]} namespaces
 * @property {number | null} started
 * @property {boolean} leads
 * @property {string} server
 */

export class Session {
  /** @type {SessionInfo | null} */
  info = null;

  get token() {
    return sessionStorage.getItem(STORED) ?? "";
  }

  /** @param {string} token */
  set token(token) {
    if (token) sessionStorage.setItem(STORED, token);
    else sessionStorage.removeItem(STORED);
  }

  /**
   * Take the token of a URL that `freehold serve` printed, and take it out of the address bar and the history.
   * @returns {boolean} whether there was one
   */
  takeFromAddress() {
    const found = /^#token=([^&]+)/.exec(location.hash);
    if (!found) return false;
    this.token = decodeURIComponent(found[1]);
    history.replaceState(null, "", "#/");
    return true;
  }
}

/**
 * Show the form that asks for a token.
 * @param {Element} root
 * @param {string} refusal  the server's sentence about the token that it refused, or ""
 * @param {(token: string) => void} onToken
 */
export function askForToken(root, refusal, onToken) {
  const field = h("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": refusal ? "refusal" : null,
    "aria-invalid": refusal ? "true" : null,
  });
  function submit(event) {
    event.preventDefault();
    // A whole URL of `freehold serve` is as good as its token.
    const token = field.value.trim().replace(/^.*#token=/, "");
    if (token) onToken(decodeURIComponent(token));
  }
  const form = h(
    "form",
    { class: "token-form", on: { submit } },
    h("label", { for: "token" }, "Token"),
    h("div", { class: "token-row" }, field, h("button", { type: "submit", class: "button primary" }, "Open")),
  );
  replace(
    root,
    h(
      "section",
      { class: "sign-in", "aria-labelledby": "sign-in" },
      h("h1", { id: "sign-in" }, refusal ? "This token is refused" : "This page needs a token"),
      refusal && h("p", { class: "refusal", id: "refusal" }, datum(refusal)),
      h("p", { class: "muted" }, "It is kept in this tab only, and sent to nobody but this server."),
      form,
      h("h2", null, "On a laptop"),
      h(
        "p",
        null,
        h("code", null, "freehold serve"),
        " prints the URL of this page with its token. Open that, or paste it above.",
      ),
      h("h2", null, "In a cluster"),
      h("p", null, "Use a token of an account that may list the objects. One of a service account lasts an hour:"),
      copyable("kubectl create token NAME --namespace NAMESPACE --duration 1h"),
    ),
  );
  field.focus();
}
