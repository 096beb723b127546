/** Where the turns stand: keeps the reader's place, follows the newest text for whoever is at the end, and asks for older
 * turns at the top. It does not know where turns come from. */

import { aborted, said } from "./api.js";
import { button, div, fault, h } from "./dom.js";
import { day } from "./format.js";

const NEAR = 48;

export class Transcript {
  #atEnd = true;
  #loading = false;
  #top = 0;
  #more = button("Earlier messages", () => void this.#load());
  #first = div("older", this.#more);
  #newest = button("Newest", () => this.toEnd(), { class: "newest" });
  #greeting = div("empty", h("h2", "What is on your mind?"),
    h("p", "Frontmind remembers what you tell it; beside the conversation stands what the model sees."),
    h("p", "Try: “Remind me to call Anna tomorrow at 9.”"));
  /** @type {HTMLElement | null} */ #fault = null;

  /** @param {HTMLElement} scroller @param {HTMLElement} turns @param {() => Promise<void>} older by `prepend` */
  constructor(scroller, turns, older) {
    this.scroller = scroller;
    this.turns = turns;
    this.older = older;
    scroller.after(div("over", this.#newest));
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    const grown = new ResizeObserver(() => this.#atEnd && this.toEnd());
    grown.observe(turns);
    grown.observe(scroller);
  }

  clear() {
    this.turns.replaceChildren();
    this.#first.hidden = true;
    this.toEnd();
  }

  /** In its place by number, or in the place of what stands there. @param {HTMLElement} view @param {number} number */
  put(view, number) {
    const next = [...this.views()].find(({ dataset }) => !(Number(dataset.number) < number));
    if (next?.dataset.number === String(number)) next.replaceWith(view);
    else if (next) next.before(view);
    else this.turns.append(view);
  }

  /** @param {(number: number) => boolean} which @returns {number[]} those that went */
  remove(which) {
    const gone = [...this.views()].filter(({ dataset }) => dataset.number && which(Number(dataset.number)));
    for (const view of gone) view.remove();
    return gone.map(({ dataset }) => Number(dataset.number));
  }

  /** What belongs around the turns that are here now. @param {boolean} more whether there are older ones */
  arrange(more) {
    this.turns.prepend(this.#first);
    this.#first.hidden = !more;
    this.#fault?.remove();
    for (const line of this.turns.querySelectorAll(".day")) line.remove();
    let before = "";
    for (const view of this.views()) {
      const asked = view.dataset.asked ?? "";
      if (asked && asked.slice(0, 10) !== before) view.before(h("p", { class: "day" }, day(asked)));
      before = asked.slice(0, 10);
    }
    if (this.views().length) this.#greeting.remove();
    else this.turns.append(this.#greeting);
  }

  /** The turns cannot be read. @param {string} words @param {() => void} retry */
  complain(words, retry) {
    this.#fault?.remove();
    this.turns.append((this.#fault = fault(words, retry)));
  }

  /** @param {HTMLElement[]} views @param {boolean} more */
  prepend(views, more) {
    const [anchor] = this.views();
    const before = anchor?.getBoundingClientRect().top ?? 0;
    this.#first.after(...views);
    this.arrange(more);
    this.scroller.scrollTop += (anchor?.getBoundingClientRect().top ?? 0) - before;
  }

  /** @param {HTMLElement} view */
  append(view) {
    this.#greeting.remove();
    this.turns.append(view);
    this.toEnd();
  }

  /** @returns {NodeListOf<HTMLElement>} */
  views() {
    return this.turns.querySelectorAll(".turn");
  }

  /** @param {number} number */
  view(number) {
    return [...this.views()].find(({ dataset }) => dataset.number === String(number));
  }

  toEnd() {
    this.#atEnd = true;
    this.#newest.hidden = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.#top = this.scroller.scrollTop;
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    // Text that came since the last frame moves the end away from a reader who did not move.
    if (scrollHeight - scrollTop - clientHeight < NEAR) this.#atEnd = true;
    else if (scrollTop < this.#top - 2) this.#atEnd = false;
    this.#top = scrollTop;
    this.#newest.hidden = this.#atEnd;
    if (scrollTop < clientHeight && !this.#first.hidden && this.#more.isConnected) void this.#load();
  }

  async #load() {
    if (this.#loading) return;
    this.#loading = true;
    this.#first.replaceChildren(this.#more);
    try {
      await this.older();
    } catch (error) {
      // In the place of the button: a reader who scrolls on does not ask again and again.
      if (!aborted(error)) this.#first.replaceChildren(fault(said(error), () => void this.#load()));
    }
    this.#loading = false;
  }
}
