/**
 * Routes of the page, kept in the hash: `#/`, `#/object/Kind/ns/name`, `#/object/…/deletion`, `#/tags`, `#/audit`, each
 * with a query of its view's own (`#/?ns=prod&state=Blocked`). Pure.
 */

/**
 * @typedef {object} Route
 * @property {"overview" | "object" | "tags" | "audit" | "unknown"} view
 * @property {string} path  without the query, as it stands in the hash
 * @property {string} key  object: "Kind/namespace/name"; else ""
 * @property {string} tab  object: "" or "deletion"
 * @property {URLSearchParams} query
 */

/** @param {string} hash @returns {Route} */
export function parseRoute(hash) {
  const [path, search] = splitOnce(hash.replace(/^#/, "") || "/", "?");
  const parts = path.split("/").filter(Boolean).map(decode);
  const route = { view: "unknown", path, key: "", tab: "", query: new URLSearchParams(search) };
  if (!parts.length) return { ...route, view: "overview" };
  if (parts.length === 1 && (parts[0] === "tags" || parts[0] === "audit")) return { ...route, view: parts[0] };
  if (parts[0] === "object" && (parts.length === 4 || (parts.length === 5 && parts[4] === "deletion"))) {
    const [, kind, namespace, name, tab] = parts;
    return { ...route, view: "object", key: `${kind}/${namespace === "-" ? "" : namespace}/${name}`, tab: tab ?? "" };
  }
  return route;
}

/**
 * Return the path of an object in URLs: "/Kind/namespace/name", with "-" for no namespace.
 * @param {string} key @returns {string}
 */
export function objectPath(key) {
  const [kind, namespace, ...name] = key.split("/");
  return `/${[kind, namespace || "-", name.join("/")].map(encodeURIComponent).join("/")}`;
}

/** @param {string} key @param {"" | "deletion"} [tab] @returns {string} */
export function objectHref(key, tab = "") {
  return `#/object${objectPath(key)}${tab && `/${tab}`}`;
}

/**
 * Return the hash of a path with a query; empty values are left out.
 * @param {string} path @param {Record<string, string>} query @returns {string}
 */
export function hrefWith(path, query) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  return `#${path}${search && `?${search}`}`;
}

/** @param {string} text @param {string} mark @returns {[string, string]} */
function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
