/** What comes by itself between what was said and what is being said: due reminders, and notices. */

import { ApiError, said } from "./api.js";
import { at, button, div, h } from "./dom.js";

/** @import {Api, ReminderDue, ReminderList} from "./page.d.ts" */

const MOST = 20;

/** A field whose choices are words that the server reads as a moment.
 * @param {string} text @param {(until: string) => void} snooze */
export function snoozeField(text, snooze) {
  const choices = ["Snooze", "in 10 minutes", "in 1 hour", "in 3 hours", "tomorrow at 9am", "in 1 week"];
  const field = h("select", { "aria-label": `Snooze: ${text}` }, ...choices.map((choice) => h("option", choice)));
  field.addEventListener("change", () => {
    if (field.selectedIndex) snooze(field.value);
    field.selectedIndex = 0;
  });
  return field;
}

export class Notices {
  /** @type {Map<HTMLElement, ReminderDue>} */ #due = new Map();

  /** @param {HTMLElement} root @param {Api} api @param {(words: string) => void} announce */
  constructor(root, api, announce) {
    this.root = root;
    this.api = api;
    this.announce = announce;
  }

  /** @param {ReminderDue} due */
  remind(due) {
    const { id, text, line } = due;
    const act = (/** @type {string} */ what, /** @type {object} */ body) => void this.#act(view, async () => {
      await this.api.post(`/api/reminders/${id}/${what}`, { ...body, version: this.#due.get(view)?.version });
      this.#close(view);
    });
    const view = this.#add(h("p", h("b", "Reminder "), line), button("Done", () => act("done", {})),
      snoozeField(text, (until) => act("snooze", { until })));
    this.#due.set(view, due);
  }

  /** @param {string} text */
  tell(text) {
    this.#add(h("p", text));
  }

  /** Reminders have changed: what was done or put off elsewhere needs no notice any more. */
  async check() {
    if (!this.#due.size) return;
    const { reminders } = /** @type {ReminderList} */ (await this.api.get("/api/reminders"));
    for (const [view, due] of this.#due) {
      const now = reminders.find(({ id }) => id === due.id);
      if (now && Date.parse(now.snoozed_until ?? now.due) === Date.parse(due.due)) due.version = now.version;
      else this.#close(view);
    }
  }

  /** @param {...HTMLElement} content */
  #add(...content) {
    const view = div("notice", ...content, button("Dismiss", () => this.#close(view), { icon: "close" }));
    this.root.append(view);
    const [oldest] = this.root.children;
    if (this.root.children.length > MOST && oldest instanceof HTMLElement) this.#close(oldest);
    this.root.hidden = false;
    this.announce(content[0]?.textContent ?? "");
    return view;
  }

  /** @param {HTMLElement} view */
  #close(view) {
    const focused = view.contains(document.activeElement);
    this.#due.delete(view);
    view.remove();
    this.root.hidden = !this.root.children.length;
    if (focused) at("message").focus();
  }

  /** @param {HTMLElement} view @param {() => Promise<void>} work */
  async #act(view, work) {
    try {
      await work();
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) await this.check();
      view.querySelector(".fault")?.remove();
      view.append(h("p", { class: "fault", role: "alert" }, said(error)));
    }
  }
}
