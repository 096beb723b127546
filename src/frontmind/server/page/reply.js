/** A reply while it comes: takes the events of its stream and shows them. It knows neither requests nor other turns. */

import { div, h, note, setSafeHtml } from "./dom.js";
import { decorate, toolView } from "./turn_view.js";

/** @import {Ended, ReplyEvent} from "./page.d.ts" */

export class LiveReply {
  /** @type {Ended | null} */ ended = null;
  /** @type {HTMLElement | null} where the text of this call of the model stands */ #prose = null;
  /** @type {Map<string, HTMLDetailsElement>} */ #tools = new Map();
  #body = h("div");
  #words = h("span", h("span", { class: "quiet" }, "Frontmind is answering"));
  #status = h("div", { class: "meta", role: "status" }, h("span", { class: "working" }), this.#words);
  root = div("answered", this.#body, this.#status);

  /** @param {ReplyEvent} message whether it was the last */
  take({ event, data }) {
    if (event === "text") this.#words.textContent = "";
    if (event === "html") this.#html(data.keep, data.html);
    if (event === "text" || event === "html") return false;
    // Behind anything but text, the text of another call of the model begins.
    this.#prose = null;
    if (event === "tool_started" || event === "tool_ended") {
      const view = toolView(data, event === "tool_started");
      const before = this.#tools.get(data.id);
      view.open = before?.open ?? false;
      if (before) before.replaceWith(view);
      else this.#body.append(view);
      this.#tools.set(data.id, view);
    } else if (event === "retrying") {
      this.#words.textContent = `Asks again in ${Math.ceil(data.seconds)} s (attempt ${data.attempt}): ${data.reason}`;
    } else if (event === "cache_loss") {
      this.#body.append(note(`About ${data.tokens.toLocaleString("en")} tokens of the cache are lost: ${data.reason}`));
    } else if (event === "done") {
      this.ended = { ...data, error: "" };
    } else if (event === "failed") {
      this.ended = { turn: data.turn, notes: [], error: data.error.code === "stopped" ? "" : data.error.message };
    }
    return this.ended !== null;
  }

  /** Nothing more comes. */
  end() {
    this.#status.remove();
  }

  /** @param {number} keep @param {string} html */
  #html(keep, html) {
    if (!this.#prose) this.#body.append((this.#prose = h("div", { class: "prose" })));
    decorate(setSafeHtml(this.#prose, html, keep));
  }
}
