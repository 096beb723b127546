/** Puts the blocks of a window into the rows that a person reads: runs of one area, and in them groups of many that are
 * alike. Pure: it makes no elements. */

import { count, counted } from "./format.js";

/** @import {Block, Row, Run, State} from "./page.d.ts" */

/** @type {State[]} in the order in which a cache has them */
export const STATES = ["read", "written", "fresh"];
const GROUPED_FROM = 5;
const NEWEST = 2;
const LARGEST_GROUP = 40;
/** @type {Record<string, string>} */
const TITLES = {
  tools: "Tools",
  system: "System prompt",
  history: "Conversation history",
  notification: "Notification center",
  turn: "This turn",
  rest: "Between the blocks",
};
/** @type {Record<string, string>} */
const GROUPED = { tools: "tool", history: "message" };

/** @param {Block[]} blocks in the order in which the model reads them @returns {Run[]} */
export function runsOf(blocks) {
  /** @type {Run[]} */
  const runs = [];
  /** @type {Record<string, number>} */
  const seen = {};
  let start = 0;
  for (const block of blocks) {
    const { area, name, kind, tokens } = block;
    const key = `${area}/${name}/${kind}`;
    seen[key] = (seen[key] ?? 0) + 1;
    if (runs.at(-1)?.area !== area) runs.push({ area, title: TITLES[area] ?? area, tokens: 0, rows: [] });
    const run = runs[runs.length - 1];
    run.rows.push(rowOf(`${key}/${seen[key]}`, name, [block], start));
    run.tokens += tokens;
    start += tokens;
  }
  for (const run of runs) if (run.area in GROUPED) run.rows = grouped(run);
  return runs;
}

/** @param {Row} group @returns {Row[]} what is in it: its blocks, or smaller groups where they are too many to read */
export function partsOf({ key, blocks, start }) {
  const size = blocks.length > 1.5 * LARGEST_GROUP ? LARGEST_GROUP * Math.ceil(blocks.length / LARGEST_GROUP ** 2) : 1;
  /** @type {Row[]} */
  const parts = [];
  for (let index = 0; index < blocks.length; index += size) {
    const inner = blocks.slice(index, index + size);
    const name = size === 1 ? inner[0].name : `${count(index + 1)} to ${count(index + inner.length)}`;
    parts.push(rowOf(`${key}/${index}`, name, inner, start));
    start += parts[parts.length - 1].tokens;
  }
  return parts;
}

/** @param {Run} run @returns {Row[]} neighbours that are alike in one row; the newest messages stand for themselves */
function grouped({ area, rows }) {
  /** @type {Row[][]} */
  const alike = [];
  rows.forEach((row, index) => {
    const apart = area === "history" && index >= rows.length - NEWEST;
    const last = alike.at(-1);
    const joins = last && !apart && last[0].state === row.state && last[0].blocks[0].change === row.blocks[0].change;
    if (joins) last.push(row);
    else alike.push([row]);
  });
  return alike.flatMap((group, index) => {
    if (group.length < GROUPED_FROM) return group;
    const blocks = group.flatMap((row) => row.blocks);
    return [rowOf(`${area}/${index}`, counted(blocks.length, GROUPED[area]), blocks, group[0].start)];
  });
}

/** @type {(key: string, name: string, blocks: Block[], start: number) => Row} */
const rowOf = (key, name, blocks, start) => {
  const sum = (/** @type {State | "tokens"} */ of) => blocks.reduce((all, block) => all + block[of], 0);
  const state = STATES.reduce((most, other) => (sum(other) > sum(most) ? other : most));
  const exact = blocks.every((block) => block.exact);
  return { key, name, blocks, start, tokens: sum("tokens"), state, exact };
};
