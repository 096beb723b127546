/** What there is to know of a window as a whole: size, money, what the cache missed and why, what is not in it. */

import { conversationPath } from "./api.js";
import { facts, folded, h, passage } from "./dom.js";
import { count, counted, moment, money, share, usageWords } from "./format.js";
import { STATES } from "./rows.js";
import { swatch } from "./strip.js";

/** @import {WindowView} from "./page.d.ts" */

/** @param {WindowView} view @returns {Node[]} */
export function summaryView(view) {
  const { model, sent_at, cost, full_price, total, exact } = view;
  const sums = STATES.map((state) => view.blocks.reduce((sum, block) => sum + block[state], 0));
  const percent = Math.round(100 * (1 - Number(cost) / Number(full_price)));
  const less = `${Math.abs(percent)} % ${percent < 0 ? "more" : "less"} than ${money(full_price)} without a cache`;
  const states = STATES.map((state, index) => h("li", swatch(state), ` ${count(sums[index], exact)} ${state}`));
  return [
    h("p", { class: "muted" }, `${model} · ${sent_at ? `sent ${moment(sent_at)}` : "not sent"}`),
    facts([
      ["tokens", count(total, exact)],
      [sent_at ? "from the cache" : "would come from the cache", share(sums[0], total)],
      [percent ? less : sent_at ? "paid" : "would be paid", money(cost)],
    ], "figures"),
    h("ul", { class: "legend" }, ...states),
    ...missed(view),
    ...view.failures.map(({ section, since, reason }) =>
      h("p", { class: "fault" }, h("strong", section), ` is unavailable since ${moment(since)}: ${reason}`),
    ),
  ];
}

/** @param {WindowView} view @returns {Node[]} what is asked for less often */
export function backgroundView(view) {
  const { conversation, turn, step, request, framing, framing_reason, expected, usage, dropped } = view;
  const path = conversationPath(conversation, `/windows/${turn}/request?step=${step}`);
  const link = h("a", { href: path, target: "_blank", rel: "noopener" }, "exact JSON");
  const hash = h("code", { title: `SHA-256 ${request}` }, request.slice(0, 12));
  const about = () => facts([
    ["Why", framing_reason],
    ["Expected", expected && usageWords(expected)],
    ["Counted", usage && `${usageWords(usage)}; reply ${count(usage.output, !usage.estimated)}`],
  ]);
  const left = () => facts(dropped.map(({ name, trinket, why }) => [name, [why, trinket].filter(Boolean).join(" · ")]));
  return [
    ...(request ? [h("p", "Stored request ", hash, " · ", link)] : []),
    folded(`Framing “${framing}”`, (body) => body.append(about())),
    folded(`Not in it: ${counted(dropped.length, "section")}`, (body) => body.append(left())),
  ];
}

/** @param {WindowView} view */
function missed({ cache, sent_at }) {
  const { cause, reason, lost, place, before, after, diagnosis } = cache;
  if (cause === "nothing" && !diagnosis) return [];
  const words = `~${counted(lost, "token")} ${sent_at ? "did" : "would"} not come from the cache: `;
  const texts = folded("Where they differ", (body) =>
    body.append(place, h("h4", "Before"), passage("Before", before), h("h4", "Now"), passage("Now", after)));
  return [h("div", { class: lost > 0 ? "fault" : "note" }, lost > 0 && h("strong", words), reason || cause,
    diagnosis && h("p", `The provider says: ${diagnosis}`), (before || after) && texts)];
}
