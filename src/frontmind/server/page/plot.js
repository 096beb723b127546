/** Draws what each call of a conversation took, in tokens and in money: a handful of paths, however many calls there are.
 * The keyboard goes by the slider beneath it, and the same figures stand in a table. */

import { button, folded, h, svg } from "./dom.js";
import { callName, callWords, count, counted, missedWords, moment, money } from "./format.js";

/** @import {CallRow} from "./page.d.ts" */

/** Half of the slider's thumb: its middle stands on the middle of a column. */
const INSET = 8;
const TOKENS = 92;
/** Room for the marks of misses. */
const TOP = 12;
const MONEY = 40;
const GAP = 6;
const LABELS = 14;
/** More rows than these take a browser a second. */
const MOST_ROWS = 400;
/** @type {["cached" | "written" | "fresh", string][]} */
const KINDS = [["cached", "read"], ["written", "written"], ["fresh", "fresh"]];

export class Plot {
  /** @type {CallRow[]} */ #calls = [];
  /** @type {CallRow[]} */ #others = [];
  #chosen = -1;
  /** @type {number | null} */ #pointed = null;

  /** @param {(index: number) => void} onPick is told the index of the call that was clicked */
  constructor(onPick) {
    this.onPick = onPick;
    this.caption = h("p", { class: "muted" });
    this.drawing = h("div", { class: "plot", "aria-hidden": "true", onpointerleave: () => this.#point(null) });
    this.drawing.addEventListener("click", (event) => onPick(this.#indexAt(event)));
    this.drawing.addEventListener("pointermove", (event) => this.#point(this.#indexAt(event)));
    this.words = h("p", { class: "plot-words muted" });
    this.table = folded("All calls as a table", (body) => body.append(this.#table()));
    new ResizeObserver(() => this.#draw()).observe(this.drawing);
  }

  /** @param {CallRow[]} calls that have a window, in order @param {CallRow[]} others that keep a cache alive */
  set(calls, others) {
    this.#calls = calls;
    this.#others = others;
    this.#pointed = null;
    this.#draw();
    this.table.open = false;
  }

  /** @param {number} index */
  choose(index) {
    this.#chosen = index;
    this.#mark();
  }

  /** @param {number} index */
  #x(index) {
    return INSET + (index / Math.max(1, this.#calls.length - 1)) * (this.drawing.clientWidth - 2 * INSET);
  }

  /** @param {MouseEvent} event */
  #indexAt(event) {
    const { left, width } = this.drawing.getBoundingClientRect();
    const last = this.#calls.length - 1;
    const index = Math.round(((event.clientX - left - INSET) / Math.max(1, width - 2 * INSET)) * last);
    return Math.max(0, Math.min(last, index));
  }

  /** @param {number | null} index */
  #point(index) {
    this.#pointed = index;
    this.#mark();
  }

  #draw() {
    const [calls, width] = [this.#calls, this.drawing.clientWidth];
    if (width === 0 || calls.length === 0) return;
    const gap = (width - 2 * INSET) / Math.max(1, calls.length - 1);
    const bar = Math.min(14, gap < 4 ? gap : gap - 1.5);
    const most = Math.max(1, ...calls.map((call) => call.usage?.input ?? 0));
    const dearest = Math.max(...calls.map((call) => Math.max(Number(call.cost), Number(call.full_price))));
    const floor = TOP + TOKENS;
    const end = floor + (dearest > 0 ? GAP + MONEY : 0);
    const canvas = svg("svg", { width, height: end + LABELS }, ...this.#tokens(bar, most, floor));
    if (dearest > 0) canvas.append(...this.#money(bar, dearest, end));
    for (const y of new Set([floor, end])) canvas.append(svg("path", { class: "axis", d: `M0 ${y}.5h${width}` }));
    const label = { class: "label", y: end + LABELS - 3 };
    const last = calls.length > 1 ? `turn ${calls[calls.length - 1].turn}` : "";
    canvas.append(svg("text", label, `turn ${calls[0].turn}`), svg("text", { ...label, x: width, "text-anchor": "end" }, last),
      svg("line", { class: "playhead", y1: 0, y2: end }));
    this.drawing.replaceChildren(canvas);
    const missed = calls.filter((call) => call.missed).length;
    const paid = dearest > 0 ? `. Below: paid; line: without a cache; up to ${money(String(dearest))}` : "";
    const misses = missed ? `▼ ${missed} missed` : "no miss";
    this.caption.textContent = `Tokens of each call, up to ${count(most)}; ${misses}${paid}`;
    this.#mark();
  }

  /** @param {number} bar @param {number} most @param {number} floor */
  #tokens(bar, most, floor) {
    const tops = this.#calls.map(() => floor);
    const parts = KINDS.map(([kind, name]) => {
      const boxes = this.#calls.map((call, index) => {
        const size = ((call.usage?.[kind] ?? 0) / most) * TOKENS;
        tops[index] -= size;
        return this.#box(index, bar, tops[index], size);
      });
      return svg("path", { d: boxes.join(""), fill: `url(#inspector-${name})` });
    });
    const mark = (/** @type {number} */ index) => `M${this.#x(index)} ${tops[index] - 2}l-4 -7h8z`;
    const marks = this.#calls.map((call, index) => (call.missed ? mark(index) : ""));
    return [...parts, svg("path", { class: "misses", d: marks.join("") })];
  }

  /** @param {number} bar @param {number} dearest @param {number} floor */
  #money(bar, dearest, floor) {
    const high = (/** @type {string | null} */ amount) => (Number(amount) / dearest) * MONEY;
    const paid = this.#calls.map((call, index) => this.#box(index, bar, floor - high(call.cost), high(call.cost)));
    const full = this.#calls.map((call, index) => this.#box(index, bar, floor - high(call.full_price), 0));
    return [svg("path", { class: "paid", d: paid.join("") }), svg("path", { class: "full-price", d: full.join("") })];
  }

  /** @param {number} index @param {number} bar @param {number} y @param {number} height */
  #box(index, bar, y, height) {
    // A miss stays visible among a thousand calls.
    const width = this.#calls[index].missed ? Math.max(bar, 2) : bar;
    return `M${(this.#x(index) - width / 2).toFixed(2)} ${y.toFixed(2)}h${width}v${height.toFixed(2)}h-${width}z`;
  }

  #mark() {
    const call = this.#calls[this.#pointed ?? this.#chosen];
    const line = this.drawing.querySelector(".playhead");
    if (!line || !call) return;
    for (const end of ["x1", "x2"]) line.setAttribute(end, String(this.#x(this.#calls.indexOf(call))));
    this.words.textContent = (this.#pointed === null ? "" : `${callName(call, this.#calls)}: `) + callWords(call);
  }

  #table() {
    const heads = ["Call", "Sent", "Prompt", "Read", "Written", "Fresh", "Paid", "Without a cache", "Missed"];
    const [calls, others] = [this.#calls, this.#others];
    const rows = calls.map((_, index) => index).slice(-MOST_ROWS).reverse();
    const older = calls.length > MOST_ROWS ? `The newest ${MOST_ROWS} of ${count(calls.length)}; the slider has all. ` : "";
    const spent = money(String(others.reduce((sum, call) => sum + Number(call.cost), 0)));
    const alive = others.length > 0 ? `${counted(others.length, "call")} more kept the cache alive. ${spent}` : "";
    const table = h("table", h("caption", older + alive),
      h("thead", h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...rows.map((index) => this.#row(index))));
    return h("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Table of the calls" }, table);
  }

  /** @param {number} index */
  #row(index) {
    const call = this.#calls[index];
    const { usage, cost, full_price } = call;
    const sizes = usage ? [usage.input, usage.cached, usage.written, usage.fresh] : [];
    const figures = [0, 1, 2, 3].map((at) => (usage ? count(sizes[at], !usage.estimated) : ""));
    const go = button(callName(call, this.#calls), () => this.onPick(index), { class: "link" });
    const missed = call.missed ? missedWords(call) : "";
    const cells = [moment(call.sent_at), ...figures, money(cost), money(full_price), missed];
    return h("tr", h("th", { scope: "row" }, go), ...cells.map((text) => h("td", text)));
  }
}
