/** The sections of the trinkets as they are at this moment, whatever was sent with the last turn. */

import { conversationPath } from "./api.js";
import { attempt, button, facts, folded, h, passage } from "./dom.js";
import { count, moment } from "./format.js";

/** @import {Api, TrinketList, TrinketState} from "./page.d.ts" */

const PLACES = { system: "In the system prompt", notification: "In the notification center" };

export class TrinketPanel {
  #conversation = "";
  #asking = new AbortController();
  #box = h("div");
  /** @type {Set<string>} */ #open = new Set();

  /** @param {Api} api */
  constructor(api) {
    this.api = api;
    this.element = folded("Trinkets now", (body) => {
      body.append(this.#box, button("Ask them again", () => this.#load(), { class: "small" }));
      this.#load();
    });
  }

  /** Asks anew where they are looked at. @param {string} conversation */
  refresh(conversation) {
    this.#conversation = conversation;
    if (this.element.open) this.#load();
  }

  #load() {
    this.#asking.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    return attempt(this.#box, async () => {
      /** @type {TrinketList} */
      const { trinkets } = await this.api.get(conversationPath(this.#conversation, "/trinkets"), { signal });
      this.#box.replaceChildren(...Object.entries(PLACES).flatMap(([place, title]) => {
        const rows = trinkets.filter(({ placement }) => placement === place).map((state) => this.#row(state));
        return rows.length > 0 ? [h("h3", title), h("ul", {}, ...rows)] : [];
      }));
    });
  }

  /** @param {TrinketState} state */
  #row({ section, trinket, content, tokens, cache_policy, author, observed_at, failure, empty }) {
    const size = failure ? "failed" : empty ? "nothing to say" : `~${count(tokens)}`;
    const title = h("summary", `${section} `, h("span", { class: failure ? "failed" : "muted" }, size));
    const about = facts([
      ["Failed", failure],
      ["Written by", trinket],
      ["Observed", observed_at && moment(observed_at)],
      ["Words of", author === "application" ? "the application alone" : "others too"],
      ["Cached", cache_policy ? "yes" : "no"],
    ]);
    const ontoggle = () => (details.open ? this.#open.add(section) : this.#open.delete(section));
    const text = content && passage(`Text of ${section} now`, content);
    const body = h("div", { class: "body" }, about, text);
    const details = h("details", { open: this.#open.has(section), ontoggle }, title, body);
    return h("li", details);
  }
}
