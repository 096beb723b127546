/** The inspector: what the model saw in any turn, and what it would see next. It knows nothing of the chat beside it. */

import { aborted, conversationPath, said } from "./api.js";
import { changeView, diffView, linesOf, linesSince } from "./diff.js";
import { attempt, fault, folded, h } from "./dom.js";
import { Plot } from "./plot.js";
import { TurnSlider } from "./slider.js";
import { Strip, patterns } from "./strip.js";
import { backgroundView, summaryView } from "./summary.js";
import { TrinketPanel } from "./trinkets.js";

/** @import {Api, Block, BlockText, CallList, CallRow, WindowDiff, WindowView} from "./page.d.ts" */

// While a slider is dragged or a message typed, only what is rested on is asked for.
const REST_ON_TURN = 60;
const REST_ON_TEXT = 200;
/** Stands for a message of which nothing is typed yet: no provider takes an empty one. */
const NOT_YET = "…";

export class Inspector {
  #conversation = "";
  #text = "";
  /** @type {CallRow[]} */ #calls = [];
  #index = -1;
  /** @type {WindowView | null} */ #view = null;
  /** @type {Promise<WindowDiff> | null} */ #diff = null;
  #listing = new AbortController();
  #asking = new AbortController();
  #timer = 0;

  /** @param {HTMLElement} root @param {Api} api */
  constructor(root, api) {
    this.api = api;
    const pick = (/** @type {number} */ index) => this.#pick(index);
    this.plot = new Plot(pick);
    this.slider = new TurnSlider(pick);
    this.strip = new Strip({ changeOf: (block) => this.#changeOf(block), textOf: (block) => this.#textOf(block) });
    this.trinkets = new TrinketPanel(api);
    this.sent = this.#modeInput();
    this.next = this.#modeInput();
    const modes = h("fieldset", { class: "modes" }, h("legend", { class: "quiet" }, "Which window"),
      h("label", this.sent, h("span", "Sent")), h("label", this.next, h("span", "Would be sent next")));
    const { caption, drawing, words, table } = this.plot;
    this.past = h("div", caption, drawing, this.slider.element, words);
    this.title = h("h2");
    this.summary = h("div", { class: "summary" });
    this.background = h("div");
    this.changed = h("div");
    this.changes = folded("Changed since the turn before", (body) => {
      body.append(this.changed);
      this.#fillChanges();
    });
    this.trouble = h("div");
    const { element } = this.strip;
    this.window = h("div", this.title, this.summary, element, this.background, this.changes);
    root.classList.add("inspector");
    root.replaceChildren(patterns(), modes, this.past, this.trouble, this.window, this.trinkets.element, table);
  }

  /** Looks at a turn's window, or with null at the newest, or at what would be sent next where the person has chosen that;
   * asks again what there is. @param {string} conversation @param {number | null} turn */
  async show(conversation, turn) {
    if (conversation !== this.#conversation) {
      this.#conversation = conversation;
      this.#text = "";
      this.#calls = [];
      this.sent.disabled = true;
      this.past.hidden = this.window.hidden = true;
    }
    this.#stop();
    this.#listing.abort();
    this.#listing = new AbortController();
    this.trinkets.refresh(conversation);
    try {
      /** @type {CallList} */
      const { calls } = await this.#get("/calls", this.#listing.signal);
      this.#setCalls(calls, turn);
    } catch (error) {
      this.#complain(error, () => this.show(conversation, turn));
    }
  }

  /** @param {string} conversation @param {string} text as it stands in the input, empty ones too */
  typing(conversation, text) {
    if (conversation !== this.#conversation || text === this.#text) return;
    this.#text = text;
    if (this.next.checked) this.#later(REST_ON_TEXT);
  }

  /** @param {CallRow[]} all @param {number | null} turn */
  #setCalls(all, turn) {
    const answers = all.filter((call) => call.purpose === "turn" && call.turn > 0);
    // A call that was sent again stands under the same number: its last sending is the one that was answered.
    const calls = [...new Map(answers.map((call) => [`${call.turn}/${call.step}`, call])).values()];
    const found = calls.findLastIndex((call) => call.turn === turn);
    const none = calls.length === 0;
    this.#calls = calls;
    this.#index = found === -1 ? calls.length - 1 : found;
    this.past.hidden = this.plot.table.hidden = none;
    // Where nothing had been sent, nobody chose to look at the next window.
    if (none || found !== -1 || this.sent.disabled) (none ? this.next : this.sent).checked = true;
    this.sent.disabled = none;
    this.plot.set(calls, all.filter((call) => call.purpose !== "turn"));
    this.#mark();
    if (turn === null || found !== -1 || none) return this.#load();
    const words = `No window of turn ${turn} is kept: nothing was sent in it. Choose another turn with the slider.`;
    return this.#complain(new Error(words), () => this.show(this.#conversation, turn));
  }

  /** @param {number} index */
  #pick(index) {
    this.#index = index;
    this.sent.checked = true;
    this.#mark();
    this.#later(REST_ON_TURN);
  }

  #mark() {
    this.slider.set(this.#calls, this.#index);
    this.plot.choose(this.#index);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#asking.abort();
    this.#asking = new AbortController();
  }

  /** @param {number} pause milliseconds without another wish */
  #later(pause) {
    this.#stop();
    this.#timer = setTimeout(() => this.#load(), pause);
  }

  async #load() {
    this.#stop();
    this.window.ariaBusy = "true";
    try {
      this.#show(this.next.checked ? await this.#preview() : await this.#sent(this.#calls[this.#index]));
    } catch (error) {
      this.#complain(error, () => this.#load());
    }
  }

  /** @template T @param {string} rest @returns {Promise<T>} */
  #get(rest, signal = this.#asking.signal) {
    return this.api.get(conversationPath(this.#conversation, rest), { signal });
  }

  /** @returns {Promise<WindowView>} */
  #preview() {
    const asked = { text: this.#text.trim() || NOT_YET };
    return this.api.post(conversationPath(this.#conversation, "/preview"), asked, { signal: this.#asking.signal });
  }

  /** @param {CallRow} call @returns {Promise<WindowView>} */
  #sent({ turn, step }) {
    return this.#get(`/windows/${turn}?step=${step}`);
  }

  /** @param {WindowView} view */
  #show(view) {
    const call = view.steps > 1 ? `, call ${view.step + 1} of ${view.steps}` : "";
    const typed = this.#text.trim() ? "with what is typed" : `with ${NOT_YET} for your message`;
    this.#view = view;
    this.#diff = null;
    this.title.textContent = view.sent_at ? `What the model saw in turn ${view.turn}${call}` : `What would be sent next, ${typed}`;
    this.summary.replaceChildren(...summaryView(view));
    this.background.replaceChildren(...backgroundView(view));
    this.changes.hidden = !view.sent_at;
    if (this.changes.open) this.#fillChanges();
    this.trouble.replaceChildren();
    this.window.hidden = false;
    this.window.ariaBusy = "false";
    this.strip.show(view);
  }

  /** @param {unknown} error @param {() => void} again */
  #complain(error, again) {
    if (aborted(error)) return;
    this.window.hidden = true;
    this.trouble.replaceChildren(fault(said(error), again));
  }

  /** @param {Block} block @returns {Promise<Node | null>} */
  async #changeOf(block) {
    const newest = this.#calls.at(-1);
    const diff = this.#view?.sent_at ? await this.#windowDiff(this.#view) : null;
    const lines = diff ? linesOf(diff, block) : newest ? linesSince(await this.#sent(newest), block) : [];
    return lines.length > 0 ? changeView(`Changed since turn ${diff ? diff.with : newest?.turn}`, lines) : null;
  }

  /** What reads all of a block's text; null for a window that is nowhere stored. @param {Block} block */
  #textOf({ id }) {
    const { sent_at, turn, step } = this.#view ?? {};
    if (!sent_at) return null;
    return async () => /** @type {BlockText} */ (await this.#get(`/windows/${turn}/blocks/${id}?step=${step}`)).text;
  }

  /** Asked once for a window, whoever wants it. @param {WindowView} view @returns {Promise<WindowDiff>} */
  async #windowDiff({ turn, step }) {
    this.#diff ??= this.#get(`/windows/${turn}/diff?step=${step}`);
    try {
      return await this.#diff;
    } catch (error) {
      this.#diff = null;
      throw error;
    }
  }

  #fillChanges() {
    const view = this.#view;
    if (!view?.sent_at) return;
    attempt(this.changed, async () => {
      const diff = await this.#windowDiff(view);
      if (view === this.#view) this.changed.replaceChildren(diffView(diff));
    });
  }

  #modeInput() {
    return h("input", { type: "radio", name: "inspector-mode", onchange: () => this.#load() });
  }
}
