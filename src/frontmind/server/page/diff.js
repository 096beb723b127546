/** What differs between two windows: lines that went and came, said by signs as well as by colour. The server compares
 * windows that were sent; what is only being typed is compared here. */

import { div, facts, h, passage } from "./dom.js";
import { counted } from "./format.js";

/** @import {Block, ChangedLine, WindowDiff, WindowView} from "./page.d.ts" */

const AROUND = 2;
const TAGS = /** @type {const} */ ({ "+": "ins", "-": "del", " ": "span" });
const WORDS = { added: "new", removed: "gone", changed: "changed" };

/** @param {string} title @param {ChangedLine[]} lines */
export function changeView(title, lines) {
  const near = (/** @type {number} */ at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ op }) => op !== " ");
  const rows = lines.map(({ op, text }, at) => near(at) ? h(TAGS[op], `${op === "-" ? "−" : op} ${text}\n`)
    : (at === 0 || near(at - 1)) && h("span", { class: "muted" }, "  …\n"));
  return div("change", h("h4", title), passage(title, ...rows));
}

/** @param {WindowDiff} diff */
export function diffView(diff) {
  const { with: before, changes, omitted } = diff;
  if (before === null) return h("p", { class: "muted" }, "This is the first window: nothing came before it.");
  const start = facts([
    ["Compared with", `turn ${before}`],
    ["First difference", diff.first_difference || "none"],
    ["The same before it", counted(diff.common, "token")],
  ]);
  const views = changes.map(({ name, kind, place, lines }) => changeView(`${name}: ${WORDS[kind]}, ${place}`, lines));
  return h("div", start, ...views, omitted > 0 && `${counted(omitted, "more change")} not shown.`);
}

/** @param {WindowDiff} diff @param {Block} block @returns {ChangedLine[]} none where it did not change, or is new */
export function linesOf(diff, block) {
  const same = diff.changes.filter((change) => change.area === block.area && change.name === block.name);
  const change = same.find((other) => other.place === block.place) ?? same[0];
  return change?.kind === "changed" ? change.lines : [];
}

/** Lines that came, and those that went: near enough for a section. None where the block's name is not its own.
 * @param {WindowView} earlier @param {Block} block @returns {ChangedLine[]} */
export function linesSince({ blocks }, block) {
  const [same, ...others] = blocks.filter(({ area, name }) => area === block.area && name === block.name);
  if (!same || others.length || same.text === block.text) return [];
  const [old, now] = [same.text.split("\n"), block.text.split("\n")];
  /** @type {(op: ChangedLine["op"]) => (text: string) => ChangedLine} */
  const line = (op) => (text) => ({ op, text });
  return [
    ...old.filter((text) => !now.includes(text)).map(line("-")),
    ...now.map((text) => line(old.includes(text) ? " " : "+")(text)),
  ];
}
