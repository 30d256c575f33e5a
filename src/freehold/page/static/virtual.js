/**
 * A list of rows of one height, of which only those near the window are elements; the page itself scrolls. A row that
 * has the focus stays. For print, all are there.
 */

/** Rows kept above and below what is seen. */
const BEYOND = 12;

/**
 * @template T
 * @typedef {object} RowSource
 * @property {(item: T) => string} keyOf
 * @property {(item: T) => HTMLElement} build  an element of the height `--row-height`
 * @property {(element: HTMLElement, index: number) => void} place  tell the element its index
 */

/** @template T */
export class VirtualRows {
  /** @type {T[]} */
  items = [];
  /** @type {Map<string, {item: T, element: HTMLElement}>} */
  #elements = new Map();
  #frame = 0;
  #height = 0;
  #printing = false;
  #ends = new AbortController();

  /** @param {HTMLElement} body @param {HTMLElement} probe  an element as high as a row @param {RowSource<T>} source */
  constructor(body, probe, source) {
    this.body = body;
    this.probe = probe;
    this.source = source;
    const { signal } = this.#ends;
    addEventListener("scroll", () => this.#schedule(), { passive: true, signal });
    addEventListener("resize", () => this.#schedule(), { signal });
    addEventListener("beforeprint", () => this.#print(true), { signal });
    addEventListener("afterprint", () => this.#print(false), { signal });
    const sizes = new ResizeObserver(() => this.#schedule());
    sizes.observe(probe);
    signal.addEventListener("abort", () => sizes.disconnect());
  }

  /** @param {T[]} items */
  show(items) {
    this.items = items;
    this.render();
  }

  end() {
    this.#ends.abort();
    cancelAnimationFrame(this.#frame);
  }

  /**
   * Scroll so far that the row is seen, and return its element.
   * @param {number} index @returns {HTMLElement | null}
   */
  reveal(index) {
    const item = this.items[index];
    if (item === undefined) return null;
    const top = this.body.getBoundingClientRect().top + index * this.#height;
    const above = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
    if (top < above) scrollBy({ top: top - above, behavior: "instant" });
    else if (top + this.#height > innerHeight) scrollBy({ top: top + this.#height - innerHeight, behavior: "instant" });
    this.render();
    return this.#elements.get(this.source.keyOf(item))?.element ?? null;
  }

  /** Rows of a window. */
  get page() {
    return Math.max(1, Math.floor(innerHeight / (this.#height || 1)) - 3);
  }

  render() {
    this.#height = this.probe.getBoundingClientRect().height || 1;
    this.body.style.height = `${this.items.length * this.#height}px`;
    const [first, last] = this.#range();
    const wanted = new Map();
    for (let index = first; index < last; index += 1) this.#take(index, wanted);
    const focused = this.#indexOfFocus();
    if (focused >= 0 && (focused < first || focused >= last)) this.#take(focused, wanted);
    for (const [key, { element }] of this.#elements) if (wanted.get(key)?.element !== element) element.remove();
    for (const { element } of wanted.values()) if (!element.isConnected) this.body.append(element);
    this.#elements = wanted;
  }

  /** @returns {[number, number]} */
  #range() {
    if (this.#printing) return [0, this.items.length];
    const top = this.body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / this.#height) - BEYOND);
    const last = Math.min(this.items.length, Math.ceil((innerHeight - top) / this.#height) + BEYOND);
    return [Math.min(first, this.items.length), Math.max(last, 0)];
  }

  /** @param {number} index @param {Map<string, {item: T, element: HTMLElement}>} wanted */
  #take(index, wanted) {
    const item = this.items[index];
    const key = this.source.keyOf(item);
    const known = this.#elements.get(key);
    const element = known?.item === item ? known.element : this.source.build(item);
    if (known && known.element !== element && known.element.contains(document.activeElement)) {
      // A row that changes under the focus keeps it.
      known.element.replaceWith(element);
      /** @type {HTMLElement | null} */ (element.querySelector("a"))?.focus({ preventScroll: true });
    }
    element.style.top = `${index * this.#height}px`;
    this.source.place(element, index);
    wanted.set(key, { item, element });
  }

  #indexOfFocus() {
    const active = document.activeElement;
    if (!active || !this.body.contains(active)) return -1;
    for (const [key, { element }] of this.#elements) {
      if (element.contains(active)) return this.items.findIndex((item) => this.source.keyOf(item) === key);
    }
    return -1;
  }

  #schedule() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.render();
    });
  }

  /** @param {boolean} printing */
  #print(printing) {
    this.#printing = printing;
    this.render();
  }
}
