/** A conversation on the screen: its turns, the reply that runs, and what a person does with them. */

import { ApiError, aborted, conversationPath, said } from "./api.js";
import { newId, readFile } from "./composer.js";
import { confirmed } from "./dialogs.js";
import { fault, h, note } from "./dom.js";
import { LiveReply } from "./reply.js";
import { follow } from "./stream.js";
import { Transcript } from "./transcript.js";
import { asked, turnView } from "./turn_view.js";

/** @import {Api, Composer, Conversation, Ended, Message, Surroundings, Turn, TurnBegun, TurnList} from "./page.d.ts" */

const AT_ONCE = 50;
/** In so many milliseconds the answer to a message is here, and news of its turn are no news. */
const NEWS_PAUSE = 300;

export class Chat {
  conversation = "";
  /** @type {number | null} the turn that runs */ running = null;
  /** @type {Map<number, Turn>} those on the screen */ #turns = new Map();
  /** @type {Set<number>} turns whose replies came to this page; news of them are no news */ #followed = new Set();
  #readings = 0;
  #life = new AbortController();

  /** @param {Api} api @param {HTMLElement} scroller @param {HTMLElement} turns @param {Surroundings} around */
  constructor(api, scroller, turns, around) {
    this.api = api;
    this.around = around;
    /** @type {Composer} set before a conversation is opened */
    this.composer;
    this.transcript = new Transcript(scroller, turns, () => this.#older());
  }

  /** @template T @param {string} rest of the path @returns {Promise<T>} */
  #get(rest) {
    return this.api.get(conversationPath(this.conversation, rest), { signal: this.#life.signal });
  }

  /** @param {string} conversation */
  open(conversation) {
    this.#life.abort();
    this.#life = new AbortController();
    this.conversation = conversation;
    this.#turns.clear();
    this.#followed.clear();
    this.#run(null);
    this.transcript.clear();
    this.composer.open(conversation);
    return this.read();
  }

  /** Brings what is shown to what there is. The reader and what is on its way keep their places. */
  async read() {
    const mine = (this.#readings += 1);
    try {
      /** @type {[Conversation, TurnList]} */
      const [about, { turns }] = await Promise.all([this.#get(""), this.#get(`/turns?newest=${AT_ONCE}`)]);
      // An answer that was overtaken by a later question is dropped.
      if (mine === this.#readings) this.#show(about, turns);
    } catch (error) {
      if (mine === this.#readings && !aborted(error)) this.transcript.complain(said(error), () => void this.read());
    }
  }

  /** @param {Conversation} about @param {Turn[]} turns the newest */
  #show(about, turns) {
    const listed = new Set(turns.map(({ number }) => number));
    const last = turns.at(-1)?.number ?? 0;
    const first = turns.length < AT_ONCE ? 0 : turns[0]?.number ?? 0;
    const gap = this.#last < first;
    // Those behind the last were begun since it was asked; those in front of the first nobody asked for.
    const gone = (/** @type {number} */ number) => number <= last && (gap || number >= first) && !listed.has(number);
    for (const number of this.transcript.remove(gone)) this.#turns.delete(number);
    for (const turn of turns) {
      const shown = this.transcript.view(turn.number);
      if (shown && (this.running === turn.number || this.#turns.get(turn.number)?.state === turn.state)) continue;
      this.transcript.put(this.#view(turn), turn.number);
    }
    this.transcript.arrange(first > 0 && Math.min(...this.#turns.keys()) > 1);
    this.around.opened(about);
    const running = turns.find((turn) => turn.running)?.number;
    const view = running !== undefined && running !== this.running && this.transcript.view(running);
    if (running && view) void this.#follow(running, view);
    else this.around.moved();
  }

  /** Another window or program has moved this conversation; or this one, whose request is not answered yet.
   * @param {number} turn */
  elsewhere(turn) {
    const { signal } = this.#life;
    setTimeout(() => {
      if (!signal.aborted && !this.#followed.has(turn)) void this.read();
    }, NEWS_PAUSE);
  }

  get #last() {
    return Math.max(0, ...this.#turns.keys());
  }

  /** @param {Message} message rejects when nobody knows that the server has it */
  async send(message) {
    const { conversation } = this;
    const { signal } = this.#life;
    const shown = this.#pending(message);
    try {
      const turn = await this.#post(conversation, message);
      if (signal.aborted || this.transcript.view(turn)) shown.remove();
      else {
        shown.dataset.number = String(turn);
        shown.classList.remove("waiting");
        void this.#follow(turn, shown);
      }
      if (conversation === this.conversation && (signal.aborted || message.replaces !== null)) void this.read();
    } catch (error) {
      shown.remove();
      throw error;
    }
  }

  /** @param {string} conversation @param {Message} message */
  async #post(conversation, { id, text, files, replaces }) {
    const attachments = files.map(({ media_type, data, name }) => ({ media_type, data, name }));
    const path = conversationPath(conversation, "/turns");
    // A message that comes once more has its id; the server gives back the turn that it has.
    const headers = { "Idempotency-Key": id };
    return /** @type {TurnBegun} */ (await this.api.post(path, { text, attachments, replaces, wait: true }, { headers })).turn;
  }

  /** @param {Message} message */
  #pending({ text, files }) {
    const view = h("article", { class: "turn waiting", "aria-label": "New message" }, asked({ text, attachments: files }));
    this.transcript.append(view);
    return view;
  }

  async stop() {
    if (this.running === null) return;
    try {
      await this.api.post(conversationPath(this.conversation, `/turns/${this.running}/stop`));
    } catch (error) {
      // One that has ended in the meantime needs no stopping.
      if (!(error instanceof ApiError && error.status === 409)) this.composer.complain(said(error));
    }
  }

  editLast() {
    const turn = this.#turns.get(this.#last);
    if (turn) void this.#again(turn, (message) => this.composer.edit(message));
  }

  /** @param {Turn} turn @param {(message: Message) => unknown} then */
  async #again({ user, number }, then) {
    try {
      if (this.running !== null) throw new Error("A reply is running: stop it first (Esc).");
      const attached = user.attachments.filter(({ url }) => url);
      const files = await Promise.all(attached.map(async ({ url, name }) => readFile(await (await this.api.fetch(url)).blob(), name)));
      await then({ id: newId(), text: user.text, files, replaces: number });
    } catch (error) {
      this.composer.complain(said(error));
    }
  }

  /** @param {Turn} turn */
  async #resend(turn) {
    const later = this.#last > turn.number;
    if (later && !(await confirmed(`Ask again from turn ${turn.number}? All that came after it will be replaced.`, "Replace"))) return;
    await this.#again(turn, (message) => this.send(message));
  }

  /** @param {Turn} turn */
  #view(turn) {
    this.#turns.set(turn.number, turn);
    return turnView(turn, {
      edit: () => void this.#again(turn, (message) => this.composer.edit(message)),
      resend: () => void this.#resend(turn),
      inspect: this.around.inspect,
    });
  }

  /** @param {number} turn @param {HTMLElement} view */
  async #follow(turn, view) {
    const { signal } = this.#life;
    const live = new LiveReply();
    view.append(live.root);
    this.#followed.add(turn);
    this.#run(turn);
    try {
      await follow(this.api, conversationPath(this.conversation, `/turns/${turn}/events?html=true`), {
        signal,
        onEvent: (message) => live.take(message),
        onState: (state) => this.around.line(state === "lost"),
      });
      if (live.ended) this.#ended(view, live.ended);
      else void this.read();
    } catch (error) {
      if (!signal.aborted) this.#ended(view, { turn: null, notes: [], error: said(error) });
    }
    live.end();
    if (!signal.aborted && this.running === turn) this.#run(null);
  }

  /** @param {HTMLElement} view @param {Ended} ended */
  #ended(view, { turn, notes, error }) {
    const now = turn ? this.#view(turn) : view;
    if (turn) view.replaceWith(now);
    const answered = now.querySelector(".answered") ?? now;
    answered.append(...notes.map(note));
    if (error) answered.append(fault(error, () => void (turn ? this.#resend(turn) : this.open(this.conversation))));
    this.around.moved();
    const words = [...answered.querySelectorAll(":scope > .prose")].map((part) => part.textContent?.trim());
    if (!error) this.around.announce(["Frontmind:", ...words].join("\n"));
  }

  /** @param {number | null} turn */
  #run(turn) {
    this.running = turn;
    this.composer.running(turn !== null);
    if (turn === null) this.around.line(false);
  }

  async #older() {
    const { signal } = this.#life;
    let until = Math.min(...this.#turns.keys()) - 1;
    // Turns that were replaced leave gaps.
    for (let found = false; until >= 1 && !found; until -= AT_ONCE) {
      const since = Math.max(1, until - AT_ONCE + 1);
      const { turns } = /** @type {TurnList} */ (await this.#get(`/turns?since=${since}&until=${until}`));
      if (signal.aborted) return;
      found = turns.length > 0;
      if (found || since === 1) this.transcript.prepend(turns.map((turn) => this.#view(turn)), since > 1);
    }
  }
}
