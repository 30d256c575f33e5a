/** The API of the operator: JSON, and server-sent events that are read with fetch, as EventSource can send no token. */

/** Milliseconds without a byte after which a stream counts as dead; the server sends a beat every 5 s. */
const SILENCE = 16_000;
/** Milliseconds that an answer may take. */
const PATIENCE = 20_000;

/** An answer that is no success, with the server's sentence. */
export class Problem extends Error {
  /** @param {number} status  0: no answer at all @param {string} sentence */
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }

  /** Whether the token is refused: only another one helps. */
  get refused() {
    return this.status === 401;
  }
}

/**
 * @typedef {object} Event  One server-sent event.
 * @property {string} name
 * @property {any} data
 */

export class Api {
  /** @param {() => string} token */
  constructor(token) {
    this.token = token;
  }

  /**
   * Read a resource of the API, such as "/api/tags".
   * @param {string} path
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   * @throws {Problem}
   */
  async get(path, signal) {
    const limit = AbortSignal.timeout(PATIENCE);
    const response = await this.#send(path, signal ? AbortSignal.any([signal, limit]) : limit);
    try {
      return await response.json();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Problem(0, "The answer of the server was cut off.");
    }
  }

  /**
   * Yield the events of a stream until it ends. A stream that falls silent is a Problem.
   * @param {string} path
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<Event>}
   */
  async *stream(path, signal) {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE);
    try {
      const response = await this.#send(path, AbortSignal.any([signal, silence.signal]));
      const parser = new EventParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE);
        yield* parser.feed(value);
      }
    } catch (error) {
      if (signal.aborted || error instanceof Problem) throw error;
      throw new Problem(0, silence.signal.aborted ? "The server has fallen silent." : "The stream broke off.");
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param {string} path @param {AbortSignal} signal @returns {Promise<Response>} */
  async #send(path, signal) {
    let response;
    try {
      response = await fetch(path, {
        headers: { Authorization: `Bearer ${this.token()}` },
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        signal,
      });
    } catch (error) {
      if (signal.aborted && signal.reason?.name !== "TimeoutError") throw error;
      throw new Problem(0, "The server does not answer.");
    }
    if (!response.ok) throw new Problem(response.status, await readProblem(response));
    return response;
  }
}

/** @param {Response} response @returns {Promise<string>} */
async function readProblem(response) {
  try {
    return String((await response.json()).problem);
  } catch {
    return `The server answered ${response.status}.`;
  }
}

/**
 * A parser of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), as far as the
 * operator sends them: lines end with \n, data is JSON.
 */
export class EventParser {
  #rest = "";

  /** @param {string} text @returns {Generator<Event>} */
  *feed(text) {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) {
      let name = "message";
      const data = [];
      for (const line of block.split("\n")) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5));
      }
      if (data.length) yield { name, data: JSON.parse(data.join("\n")) };
    }
  }
}
