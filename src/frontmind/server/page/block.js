/** The words and the opened body of one block of a window: its text, where it came from, what the cache did with it. */

import { attempt, button, facts, h, passage } from "./dom.js";
import { count, counted } from "./format.js";
import { STATES } from "./rows.js";

/** @import {Block, Row, Source} from "./page.d.ts" */

const SNIPPET = 80;

/** @param {Row} row what was said, in a few words; null where the name says enough */
export function snippet({ blocks: [block, ...others] }) {
  if (others.length > 0 || !["history", "turn"].includes(block.area)) return null;
  return h("q", block.text.slice(0, SNIPPET).replace(/\s+/g, " "));
}

/** @param {Row} row whether it is as it was in the window before */
export function changeWords({ blocks }) {
  const other = blocks.filter((block) => block.change !== "same");
  if (other.length === 0) return "";
  return blocks.every((block) => block.change === other[0].change) ? other[0].change : `${other.length} changed`;
}

/** @param {Row} row what the cache did with it */
export function cacheWords({ blocks, exact }) {
  const sums = STATES.map((state) => blocks.reduce((sum, block) => sum + block[state], 0));
  return STATES.flatMap((state, index) => (sums[index] ? [`${count(sums[index], exact)} ${state}`] : [])).join(", ");
}

/** The body of a row that is one block. @param {Row} row @param {Source} source */
export function blockDetail(row, source) {
  const [block] = row.blocks;
  const [change, text] = [h("div"), h("div")];
  fillText(text, block, block.text, source);
  const compare = async () => change.replaceChildren((await source.changeOf(block)) ?? "");
  if (block.change !== "same") attempt(change, compare);
  const about = facts([
    ["Written by", block.trinket],
    ["Why", block.why],
    ["Age", block.age],
    ["Tokens", `${count(block.tokens, block.exact)}${block.exact ? ", exact" : ", estimated"}`],
    ["Cache", cacheWords(row)],
    ["Place", [block.place, block.role, block.kind].filter(Boolean).join(" · ")],
  ]);
  return h("div", { class: "body" }, about, change, text);
}

/** @param {HTMLElement} box @param {Block} block @param {string} text @param {Source} source */
function fillText(box, block, text, source) {
  box.replaceChildren(text && passage(`Text of ${block.name}`, text));
  const length = [...text].length;
  if (block.length <= length) return;
  const words = `The first ${count(length)} of ${counted(block.length, "character")}. `;
  const whole = source.textOf(block);
  box.append(h("p", { class: "muted" }, words, whole && button("All of it", () => attempt(box, async () => fillText(box, block, await whole(), source)))));
}
