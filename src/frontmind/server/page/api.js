/** The HTTP API as the page calls it: JSON in and out, errors in the server's words. Knows no element of the page. */

/** An answer from 400 on, or none (status 0): `message` says what to do, `after` how many seconds to wait. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message, after = 0) {
    super(message);
    this.status = status;
    this.code = code;
    this.after = after;
  }
}

/** @param {unknown} error in one line */
export const said = (error) => (error instanceof Error ? error.message : String(error));

/** @param {unknown} error whether a request was given up on purpose */
export const aborted = (error) => error instanceof DOMException && error.name === "AbortError";

/** @param {Response} response */
async function problem(response) {
  let detail = { code: "internal", message: `The server answered ${response.status}.` };
  try {
    detail = { ...detail, ...(await response.json()).error };
  } catch {
    // A proxy in between answers in a form of its own.
  }
  return new ApiError(response.status, detail.code, detail.message, Number(response.headers.get("Retry-After")) || 0);
}

/** @import {Options} from "./page.d.ts" */

export class Api {
  /** @param {() => Promise<void>} login asks for a key; resolves when the server has taken one */
  constructor(login) {
    this.login = login;
  }

  /** @param {string} path as "/api/me" @param {RequestInit} [init] @returns {Promise<Response>} of a status below 400 */
  async fetch(path, init) {
    for (;;) {
      let response;
      try {
        response = await fetch(path, init);
      } catch (error) {
        if (aborted(error)) throw error;
        throw new ApiError(0, "unreachable", "Frontmind cannot be reached: check that `frontmind serve` is running.");
      }
      if (response.ok) return response;
      if (response.status !== 401 || path === "/api/login") throw await problem(response);
      await this.login();
    }
  }

  /** @template T @param {string} path @param {Options} [options] @returns {Promise<T>} */
  get(path, options) {
    return this.send("GET", path, undefined, options);
  }

  /** @template T @param {string} path @param {unknown} [body] @param {Options} [options] @returns {Promise<T>} */
  post(path, body, options) {
    return this.send("POST", path, body, options);
  }

  /**
   * @template T @param {string} method @param {string} path @param {unknown} [body] @param {Options} [options]
   * @returns {Promise<T>}
   */
  async send(method, path, body, options) {
    const headers = { ...options?.headers, ...(body !== undefined && { "Content-Type": "application/json" }) };
    const response = await this.fetch(path, { ...options, method, headers, body: JSON.stringify(body) });
    return response.status === 204 ? /** @type {T} */ (undefined) : await response.json();
  }
}

/** @param {string} conversation @param {string} [rest] as "/turns" */
export const conversationPath = (conversation, rest = "") => `/api/conversations/${encodeURIComponent(conversation)}${rest}`;
