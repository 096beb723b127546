/** The regions of the page: which are shown beside each other, and which lie over the others on a narrow screen. */

import { look } from "./kept.js";

const THEMES = ["", "light", "dark"];
const NARROW = matchMedia("(max-width: 1180px)");

export class Shell {
  /** @type {Element | null} */ #before = null;

  /** @param {HTMLElement} app @param {() => void} shown when the side is */
  constructor(app, shown) {
    this.app = app;
    this.shown = shown;
    app.classList.toggle("alone", look("side") === "hidden");
    NARROW.addEventListener("change", () => this.closeOverlay());
    app.addEventListener("click", (event) => event.target === app && this.closeOverlay());
  }

  get sideShown() {
    const { classList } = this.app;
    return NARROW.matches ? classList.contains("side-open") : !classList.contains("alone");
  }

  /** @param {boolean} show */
  side(show) {
    if (show === this.sideShown) return;
    look("side", show || NARROW.matches ? "" : "hidden");
    if (NARROW.matches && show) this.open("side");
    else if (!this.closeOverlay()) this.app.classList.toggle("alone", !show);
    if (show) this.shown();
  }

  /** @returns {boolean} whether a region lay over the others */
  closeOverlay() {
    const open = ["side-open", "list-open"].some((name) => this.app.classList.contains(name));
    this.app.classList.remove("side-open", "list-open");
    for (const region of this.app.children) region.toggleAttribute("inert", false);
    if (open && this.#before instanceof HTMLElement) this.#before.focus();
    return open;
  }

  /** Lays a region over the others. @param {"side" | "list"} name */
  open(name) {
    this.closeOverlay();
    this.#before = document.activeElement;
    this.app.classList.add(`${name}-open`);
    const over = this.app.querySelector(name === "side" ? ".side" : ".conversations");
    for (const region of this.app.children) region.toggleAttribute("inert", region !== over);
    if (over instanceof HTMLElement) over.focus();
  }
}

/** The next theme: the system's, light, dark. Says which it is. */
export function switchTheme() {
  const { dataset } = document.documentElement;
  dataset.theme = THEMES[(THEMES.indexOf(dataset.theme ?? "") + 1) % THEMES.length] ?? "";
  look("theme", dataset.theme);
  return `Theme: ${dataset.theme || "system"}`;
}
