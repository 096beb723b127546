/** Draws a window as one strip, every block in exact proportion; beside it rows that can be read and pressed, and bands that
 * say which row is which part. It knows no route. */

import { blockDetail, cacheWords, changeWords, snippet } from "./block.js";
import { h, svg } from "./dom.js";
import { count, counted, share } from "./format.js";
import { STATES, partsOf, runsOf } from "./rows.js";

/** @import {Row, Run, Source, State, WindowView} from "./page.d.ts" */

const STRIP = 40;
const WIDTH = 76;
const LEAST = 220;
const MOST = 640;
/** What stands around the sections of the notification center. */
const FRAME = "(frame)";
/** @type {Record<State, [size: number, marks: string]>} they differ without any colour */
const PATTERNS = { read: [8, ""], written: [6, "M-1 1l2 -2M0 6l6 -6M5 7l2 -2"], fresh: [4, "M1 1h1v1h-1z"] };

export class Strip {
  /** @type {WindowView | null} */ #view = null;
  /** @type {Set<string>} */ #open = new Set();
  /** @type {Map<HTMLElement, Row>} */ #rows = new Map();
  #marked = true;
  #height = LEAST;
  #frame = 0;

  /** @param {Source} source */
  constructor(source) {
    this.source = source;
    this.canvas = svg("svg", { class: "strip-canvas", width: WIDTH, "aria-hidden": "true" });
    this.list = h("div");
    this.element = h("div", { class: "strip" }, h("div", this.canvas), this.list);
    this.canvas.addEventListener("click", (event) => this.#reveal(event));
    new ResizeObserver(() => this.#measure()).observe(this.list);
    document.addEventListener("scroll", () => this.#schedule(), { capture: true, passive: true });
  }

  /** @param {WindowView} view */
  show(view) {
    const focused = [...this.#rows].find(([button]) => button === document.activeElement)?.[1].key;
    this.#view = view;
    this.#rows.clear();
    // In a first window everything is new: to say so at each block says nothing.
    this.#marked = view.blocks.some((block) => block.change !== "new");
    this.list.replaceChildren(...runsOf(view.blocks).map((run) => this.#runView(run, view)));
    for (const [button, row] of this.#rows) if (row.key === focused) button.focus({ preventScroll: true });
    this.#measure();
  }

  /** @param {Run} run @param {WindowView} view */
  #runView({ title, tokens, rows }, view) {
    const list = h("ol");
    for (const row of rows) {
      list.append(this.#rowView(row));
      for (const state of /** @type {const} */ (["read", "written"])) {
        const last = view.blocks.findLast((block) => block[state] > 0);
        if (!last || !row.blocks.includes(last)) continue;
        const sum = count(view.blocks.reduce((all, block) => all + block[state], 0), view.exact);
        const words = `↑ ${sum} ${state === "read" ? "read from" : "written to"} the cache, up to here`;
        list.append(h("li", { class: `boundary is-${state}` }, words));
      }
    }
    const size = `${count(tokens, rows.every((row) => row.exact))} · ${share(tokens, view.total)}`;
    return h("section", { "aria-label": title }, h("h3", title, h("span", size)), list);
  }

  /** @param {Row} row @returns {HTMLLIElement} */
  #rowView(row) {
    const { key, name, tokens, exact } = row;
    const look = row.blocks.length > 1 ? " is-group" : name === FRAME ? " is-frame" : "";
    const change = this.#marked && changeWords(row);
    const size = h("span", { "aria-hidden": "true" }, count(tokens, exact));
    const said = `, ${exact ? "" : "about "}${counted(tokens, "token")}: ${cacheWords(row)}`;
    const body = h("div");
    const onclick = () => {
      const open = !this.#open.has(key);
      button.setAttribute("aria-expanded", String(open));
      this.#open[open ? "add" : "delete"](key);
      for (const inner of this.#rows.keys()) if (body.contains(inner)) this.#rows.delete(inner);
      body.replaceChildren();
      if (open) this.#fill(body, row);
      this.#schedule();
    };
    const state = { type: "button", class: `piece${look}`, "aria-expanded": String(this.#open.has(key)), onclick };
    const button = h("button", state, swatch(row.state), h("span", { class: "piece-name" }, name, " ", snippet(row)),
      change && h("span", { class: "mark" }, change), size, h("span", { class: "quiet" }, said));
    this.#rows.set(button, row);
    if (this.#open.has(key)) this.#fill(body, row);
    return h("li", button, body);
  }

  /** @param {HTMLElement} body @param {Row} row */
  #fill(body, row) {
    const parts = () => h("ol", {}, ...partsOf(row).map((part) => this.#rowView(part)));
    body.replaceChildren(row.blocks.length > 1 ? parts() : blockDetail(row, this.source));
  }

  /** How high the strip is: as the closed rows are, so that the bands run level, within what a screen shows at once. */
  #measure() {
    const rows = [...this.list.querySelectorAll("h3, section > ol > .boundary, section > ol > li > .piece")];
    const height = rows.reduce((sum, row) => sum + row.clientHeight + 1, 0);
    this.#height = Math.round(Math.min(MOST, window.innerHeight * 0.8, Math.max(LEAST, height)));
    this.canvas.setAttribute("height", String(this.#height));
    this.#schedule();
  }

  #schedule() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    const view = this.#view;
    if (view === null || this.list.clientHeight === 0) return;
    const scale = this.#scale();
    const paths = { read: "", written: "", fresh: "" };
    let [y, lines, area] = [0, "", view.blocks[0].area];
    for (const block of view.blocks) {
      if (block.area !== area || block.tokens * scale > 4) lines += `M0 ${y}h${STRIP}`;
      area = block.area;
      for (const state of STATES) {
        const size = Math.max(0, block[state]) * scale;
        if (size > 0) paths[state] += `M0 ${y}h${STRIP}v${size}h-${STRIP}z`;
        y += size;
      }
    }
    const parts = STATES.map((state) => svg("path", { d: paths[state], fill: `url(#inspector-${state})` }));
    const edge = svg("path", { class: "strip-edge", d: `M.5 .5h${STRIP - 1}v${this.#height - 1}h-${STRIP - 1}z` });
    this.canvas.replaceChildren(...this.#bands(scale), ...parts, svg("path", { class: "strip-lines", d: lines }), edge);
  }

  #scale() {
    const sum = this.#view?.blocks.reduce((all, block) => all + Math.max(0, block.tokens), 0) ?? 0;
    return this.#height / Math.max(1, sum);
  }

  /** @param {number} scale @returns {SVGElement[]} for the rows that are in sight */
  #bands(scale) {
    const { top, left } = this.canvas.getBoundingClientRect();
    return [...this.#rows].flatMap(([button, row]) => {
      const at = button.getBoundingClientRect();
      const open = this.#open.has(row.key);
      if ((open && row.blocks.length > 1) || at.bottom < 0 || at.top > window.innerHeight) return [];
      const [above, below, end, bend] = [at.top - top + 1, at.bottom - top - 1, at.left - left, (STRIP + WIDTH) / 2];
      const [first, last] = [row.start * scale, (row.start + row.tokens) * scale];
      const [out, back] = [`${bend} ${first} ${bend} ${above} ${end} ${above}`, `${bend} ${below} ${bend} ${last}`];
      const d = `M${STRIP} ${first}C${out}V${below}C${back} ${STRIP} ${last}z`;
      return [svg("path", { class: `band is-${row.state}${open ? " lit" : ""}`, d })];
    });
  }

  /** The innermost row of a place in the strip: it comes last. @param {MouseEvent} event */
  #rowAt(event) {
    const { top, left } = this.canvas.getBoundingClientRect();
    const tokens = (event.clientY - top) / this.#scale();
    const at = [...this.#rows].findLast(([, row]) => row.start <= tokens && tokens < row.start + row.tokens);
    return event.clientX - left <= STRIP && at ? at[0] : null;
  }

  /** Opens what stands there, through its groups. @param {MouseEvent} event */
  #reveal(event) {
    let button = this.#rowAt(event);
    while (button?.getAttribute("aria-expanded") === "false") {
      button.click();
      button = this.#rowAt(event);
    }
    button?.focus({ preventScroll: true });
    button?.scrollIntoView({ block: "nearest" });
  }
}

/** @param {State} state */
export function swatch(state) {
  const square = svg("rect", { width: 12, height: 28, fill: `url(#inspector-${state})` });
  return svg("svg", { class: `swatch is-${state}`, width: 12, height: 28, "aria-hidden": "true" }, square);
}

/** The patterns that the strip, the plot and the swatches are filled with. */
export function patterns() {
  const all = STATES.map((state) => {
    const [size, d] = PATTERNS[state];
    const ground = svg("rect", { width: size, height: size, class: "ground" });
    const look = { id: `inspector-${state}`, class: `is-${state}`, width: size, height: size };
    const marks = svg("path", { d, class: "marks" });
    return svg("pattern", { ...look, patternUnits: "userSpaceOnUse" }, ground, marks);
  });
  return svg("svg", { class: "patterns", width: 0, height: 0, "aria-hidden": "true" }, svg("defs", {}, ...all));
}
