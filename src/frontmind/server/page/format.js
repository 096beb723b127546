/** Moments, sizes, money, tokens and calls for people. Moments come in the person's zone. */

/** @import {CallRow, Usage} from "./page.d.ts" */

/** @param {string} moment ISO 8601 with offset */
export const clock = (moment) => moment.slice(11, 16);

const NEAR = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", weekday: "short", day: "numeric", month: "short" });
const FAR = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short", year: "numeric" });

/** @param {string} moment or a date; gives Today, Yesterday, Mon 30 Nov, or 30 Nov 2025 */
export function day(moment) {
  const [, sign = "+", hours = 0, minutes = 0] = /([+-])(\d\d):(\d\d)$/.exec(moment) ?? [];
  const offset = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  const date = Date.parse(moment.slice(0, 10));
  const days = Math.floor((Date.now() + offset) / 86_400_000) - date / 86_400_000;
  return days === 0 ? "Today" : days === 1 ? "Yesterday" : (Math.abs(days) < 180 ? NEAR : FAR).format(date);
}

/** @param {string} moment or a date */
export const moment = (moment) => (moment.length > 10 ? `${day(moment)}, ${clock(moment)}` : day(moment));

/** @param {string | null} cost dollars in decimal, null where nobody knows */
export function money(cost) {
  const dollars = Number(cost);
  return dollars === 0 ? "" : dollars < 0.0001 ? "< $0.0001" : `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
}

/** @param {number} bytes */
export const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** @param {number} number @param {boolean} [exact] an estimate is marked with ~ */
export const count = (number, exact = true) => (exact ? "" : "~") + number.toLocaleString("en");

/** A part of a whole that is never rounded to all or nothing. @param {number} part @param {number} all */
export function share(part, all) {
  const percent = all > 0 ? (100 * part) / all : 0;
  if (percent > 0 && percent < 1) return "<1 %";
  return percent > 99 && percent < 100 ? ">99 %" : `${Math.round(percent)} %`;
}

/** @param {Usage} usage */
export function usageWords(usage) {
  const figures = [usage.input, usage.cached, usage.written, usage.fresh];
  const [all, read, written, fresh] = figures.map((tokens) => count(tokens, !usage.estimated));
  return `${all} tokens: ${read} read, ${written} written, ${fresh} fresh`;
}

/** @param {CallRow} call @param {CallRow[]} calls of its conversation */
export function callName(call, calls) {
  const many = calls.filter((other) => other.turn === call.turn).length;
  return `Turn ${call.turn}${many > 1 ? `, call ${call.step + 1} of ${many}` : ""}`;
}

/** What is known of a call, in one sentence or two. @param {CallRow} call */
export function callWords(call) {
  const words = call.usage ? usageWords(call.usage) : "it has not ended, or broke off";
  const price = call.cost && `; ${money(call.cost)}, without a cache ${money(call.full_price)}`;
  return `${words}${price ?? ""}.${call.missed ? ` Missed ${missedWords(call)}.` : ""}`;
}

/** @param {CallRow} call */
export function missedWords(call) {
  return `~${counted(call.lost, "token")}: ${call.reason || call.cause}`;
}
