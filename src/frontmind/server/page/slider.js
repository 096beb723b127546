/** Goes back through the calls of a conversation: a slider whose track is the axis of the plot above it, and buttons. */

import { button, h } from "./dom.js";
import { callName, callWords } from "./format.js";

/** @import {CallRow, Way} from "./page.d.ts" */

export class TurnSlider {
  /** @type {CallRow[]} */ #calls = [];
  #index = 0;

  /** @param {(index: number) => void} onPick is told the index of a call that the person has gone to */
  constructor(onPick) {
    this.onPick = onPick;
    const oninput = () => onPick(Number(this.input.value));
    const onkeydown = (/** @type {KeyboardEvent} */ event) => {
      const way = { PageUp: 1, PageDown: -1 }[event.key];
      if (!way) return;
      event.preventDefault();
      this.#go("turn", way);
    };
    this.input = h("input", { type: "range", min: "0", "aria-label": "Turn", oninput, onkeydown });
    this.output = h("strong");
    const kinds = /** @type {Way[]} */ (["turn", "miss"]);
    this.buttons = kinds.flatMap((kind) => [this.#button(kind, -1), this.#button(kind, 1)]);
    const row = h("div", { class: "turn-row" }, this.output, h("span", {}, ...this.buttons.map(({ made }) => made)));
    this.element = h("div", this.input, row);
  }

  /** @param {CallRow[]} calls in order, those that have a window @param {number} index the one that is looked at */
  set(calls, index) {
    this.#calls = calls;
    this.#index = index;
    this.input.max = String(Math.max(0, calls.length - 1));
    this.input.disabled = calls.length < 2;
    this.input.value = String(index);
    const call = calls[index];
    if (!call) return;
    const name = callName(call, calls);
    this.output.textContent = name;
    this.input.setAttribute("aria-valuetext", `${name}: ${callWords(call)}`);
    for (const { made, kind, way } of this.buttons) {
      // Not `disabled`: the button that has just been pressed would lose the focus.
      made.setAttribute("aria-disabled", String(this.#target(kind, way) === undefined));
    }
  }

  /** The next call of another turn, or that missed. @param {Way} kind @param {number} way */
  #target(kind, way) {
    const calls = this.#calls;
    for (let index = this.#index + way; calls[index]; index += way) {
      if (kind === "miss" ? calls[index].missed : calls[index].turn !== calls[this.#index].turn) return index;
    }
    return undefined;
  }

  /** @param {Way} kind @param {number} way */
  #go(kind, way) {
    const target = this.#target(kind, way);
    if (target !== undefined) this.onPick(target);
  }

  /** @param {Way} kind @param {number} way */
  #button(kind, way) {
    const made = button(way < 0 ? `‹ ${kind}` : `${kind} ›`, () => this.#go(kind, way), { class: "small" });
    made.setAttribute("aria-label", `${way < 0 ? "Previous" : "Next"} ${kind}`);
    return { made, kind, way };
  }
}
