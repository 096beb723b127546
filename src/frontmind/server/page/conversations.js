/** The list of conversations, of which one is open. */

import { said } from "./api.js";
import { fault, h, link } from "./dom.js";
import { clock, counted, day } from "./format.js";

/** @import {Api, Conversation, ConversationList as Listed} from "./page.d.ts" */

const AT_ONCE = 50;

/** The name of a new conversation. */
export const newName = () => new Date().toISOString().slice(0, 19);

/** @param {string} name @returns {string} the address within the page */
export const addressOf = (name) => `#/${encodeURIComponent(name)}`;

/** @param {string} hash @returns {string} "" where it names none */
export function nameIn(hash) {
  try {
    return decodeURIComponent(hash.replace(/^#\/?/, ""));
  } catch {
    return "";
  }
}

/** @param {Conversation} conversation */
export const titleOf = ({ title, name, turns }) => title || (turns ? name : "New conversation");

export class ConversationList {
  /** @type {Conversation[]} */ #all = [];
  /** @type {Conversation | null} */ #open = null;

  /** @param {HTMLElement} list @param {Api} api */
  constructor(list, api) {
    this.list = list;
    this.api = api;
  }

  /** @param {Conversation} conversation */
  open(conversation) {
    this.#open = conversation;
    return this.refresh();
  }

  /** Reads the list, or what comes behind a place in it. */
  async refresh(before = "") {
    try {
      const path = `/api/conversations?limit=${AT_ONCE}${before && `&before=${encodeURIComponent(before)}`}`;
      const { conversations, next } = /** @type {Listed} */ (await this.api.get(path));
      this.#all = before ? [...this.#all, ...conversations] : conversations;
      this.#show(next);
    } catch (error) {
      this.list.replaceChildren(h("li", fault(said(error), () => void this.refresh())));
    }
    return this.#all;
  }

  /** @param {string | null} next */
  #show(next) {
    const focused = this.list.contains(document.activeElement) && document.activeElement?.getAttribute("href");
    const open = this.#open;
    const all = open && !this.#all.some(({ name }) => name === open.name) ? [open, ...this.#all] : this.#all;
    this.list.replaceChildren(...all.map((conversation) => this.#row(conversation)));
    if (next) this.list.append(h("li", link("Earlier conversations", () => void this.refresh(next))));
    for (const row of this.list.querySelectorAll("a")) if (row.getAttribute("href") === focused) row.focus();
  }

  /** @param {Conversation} conversation */
  #row(conversation) {
    const { name, last_at: last, turns, running } = conversation;
    const when = last && (day(last) === "Today" ? clock(last) : day(last));
    const about = turns ? `${when} · ${counted(turns, "turn")}` : "Nothing said yet";
    return h("li", { class: running !== null && "running" },
      h("a", { href: addressOf(name), "aria-current": name === this.#open?.name && "page" },
        h("span", titleOf(conversation)), h("small", about)));
  }
}
