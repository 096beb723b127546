/** The region at the side: tabs, of which each makes its content when it is first shown. */

import { ApiError, said } from "./api.js";
import { button, h, submit } from "./dom.js";

/** @import {Content, Tab} from "./page.d.ts" */

/** Where a panel says what went wrong. */
export class Attempts {
  element = h("div", { class: "faults" });

  /** @param {() => Promise<unknown>} [reload] reads what is stored now */
  constructor(reload) {
    this.reload = reload;
  }

  /** Whether it was done. @param {() => unknown} work */
  async make(work) {
    this.element.replaceChildren();
    try {
      await work();
      return true;
    } catch (error) {
      const changed = error instanceof ApiError && error.status === 409 && this.reload;
      if (changed) await this.make(changed);
      const words = changed ? `It was changed elsewhere, and nothing was stored. (${said(error)})` : said(error);
      this.element.replaceChildren(h("p", { class: "fault", role: "alert" }, words));
      return false;
    }
  }
}

/** A field with its button. @param {string} label @param {HTMLInputElement} field @param {string} does @param {() => unknown} onsubmit */
export const fieldForm = (label, field, does, onsubmit) =>
  h("form", { class: "line", onsubmit }, h("div", h("label", { for: field.id }, label), field), submit(does));

export class Panels {
  /** @type {Map<string, { tab: HTMLElement, panel: HTMLElement, content?: Content, made: Tab }>} */ #tabs = new Map();
  #current = "";

  /** @param {HTMLElement} side @param {Tab[]} tabs @param {() => void} close */
  constructor(side, tabs, close) {
    const strip = h("div", { role: "tablist", "aria-label": "Regions", onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event) });
    side.append(h("header", { class: "bar" }, strip, button("Hide this region", close, { icon: "close" })));
    for (const made of tabs) {
      const [id, panelId] = [`tab-${made.id}`, `panel-${made.id}`];
      const tab = h("button", { type: "button", role: "tab", id, "aria-controls": panelId, onclick: () => this.open(made.id) }, made.label);
      const panel = h("section", { role: "tabpanel", id: panelId, "aria-labelledby": id, tabIndex: 0 });
      strip.append(tab);
      side.append(panel);
      this.#tabs.set(made.id, { tab, panel, made });
    }
  }

  /** @param {string} id */
  open(id) {
    this.#current = id;
    for (const [name, { tab, panel }] of this.#tabs) {
      tab.ariaSelected = String(name === id);
      tab.tabIndex = name === id ? 0 : -1;
      panel.hidden = name !== id;
    }
    const opened = this.#tabs.get(id);
    opened?.tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (opened) (opened.content ??= opened.made.mount(opened.panel)).show();
  }

  /** The region has come to the sight: what it shows may be old. */
  refresh() {
    this.open(this.#current || "inspector");
  }

  /** @param {string} id its content is not what it was */
  changed(id) {
    if (id === this.#current) this.#tabs.get(id)?.content?.show();
  }

  focus() {
    this.#tabs.get(this.#current)?.tab.focus();
  }

  /** @param {KeyboardEvent} event */
  #key({ key }) {
    const names = [...this.#tabs.keys()];
    const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    this.open(names.at((names.indexOf(this.#current) + step) % names.length) ?? "");
    this.focus();
  }
}
