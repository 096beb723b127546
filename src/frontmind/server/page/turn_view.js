/** A turn as it is shown: what was asked, the steps, the reply, and what it cost. Knows no request. */

import { div, h, link, note, setSafeHtml } from "./dom.js";
import { clock, money } from "./format.js";

/** @import {Attachment, Said, ToolUse, Turn, TurnActions} from "./page.d.ts" */

/** @param {() => string} text */
function copyButton(text) {
  const made = link("Copy", async () => {
    const done = await navigator.clipboard.writeText(text()).then(() => "Copied", () => "Not allowed here");
    made.textContent = done;
    setTimeout(() => { made.textContent = "Copy"; }, 1600);
  });
  return made;
}

/** Give code its copy button. The number of top-level elements stays. @param {Element[]} elements */
export function decorate(elements) {
  for (const pre of elements.flatMap((element) => (element.matches("pre") ? element : [...element.querySelectorAll("pre")]))) {
    const language = /language-(\S+)/.exec(pre.firstElementChild?.className ?? "")?.[1] ?? "";
    const box = div("code", h("header", language, copyButton(() => pre.textContent ?? "")));
    pre.replaceWith(box);
    box.append(pre);
  }
}

/** @param {string} html sanitised by the server */
function prose(html) {
  const element = h("div", { class: "prose" });
  decorate(setSafeHtml(element, html));
  return element;
}

/** @param {Attachment[]} attachments */
function files(attachments) {
  return attachments.length > 0 && div("files", ...attachments.map(({ kind, name, url }) => {
    const image = kind === "image" && url;
    const label = name || (kind === "image" ? "Image" : "File");
    return h(url ? "a" : "span", { href: url, target: "_blank" }, image ? h("img", { src: url, alt: label, loading: "lazy" }) : label);
  }));
}

/** @param {ToolUse} use @param {boolean} [running] */
export function toolView({ name, arguments: asked, result, is_error: failed }, running) {
  const state = running ? " runs …" : result === null ? " has no result" : failed ? " failed" : "";
  const part = (/** @type {string} */ title, /** @type {string} */ text) => [h("h3", title), h("pre", { tabIndex: 0 }, text)];
  return h("details", { class: "tool" }, h("summary", h("b", name), state), ...part("Asked with", asked),
    ...(result === null ? [] : part(failed ? "Error" : "Result", result)));
}

/** What was asked; `html` where the server has rendered it already.
 * @param {Omit<Said, "html"> & { html?: string }} said */
export function asked({ text, html, attachments }) {
  const words = text && (html === undefined ? div("prose plain", text) : prose(html));
  return div("asked", h("h2", { class: "quiet" }, "You"), files(attachments), words);
}

/** @param {Turn} turn */
function notes({ interrupted, cache, waits_for: waits, state, running }) {
  return [
    interrupted && note("The reply was stopped here."),
    cache?.missed && note(`The cache was missed: ${cache.reason}`),
    waits.length > 0 && note(`Waits for the program that asked to answer: ${waits.map(({ name }) => name).join(", ")}.`),
    state === "open" && !running && !waits.length && note("This message has no reply. It goes along with the next one."),
  ];
}

/** @param {Turn} turn @param {TurnActions} actions */
export function turnView(turn, actions) {
  const { number, reply, usage, model, running } = turn;
  const cached = usage && usage.cached > 0 && `${Math.floor((100 * usage.cached) / usage.input)}% cached`;
  const facts = [turn.answered_at && clock(turn.answered_at), money(turn.cost), cached];
  return h("article", { class: "turn", "aria-label": `Turn ${number}`, "data-number": number, "data-asked": turn.asked_at },
    asked(turn.user),
    div("meta own", h("span", { class: "actions" }, link("Edit", () => actions.edit(turn))),
      h("span", clock(turn.asked_at))),
    !running && div("answered", h("h2", { class: "quiet" }, "Frontmind"),
      ...turn.steps.flatMap(({ text, html, calls }) => [text && prose(html), ...calls.map((use) => toolView(use))]),
      reply?.text && prose(reply.html), reply && files(reply.attachments), ...notes(turn)),
    !running && div("meta", ...facts.map((fact) => fact && h("span", fact)),
      model && h("span", { class: "model" }, model),
      h("span", { class: "actions" }, link("Inspect", () => actions.inspect(number)),
        reply && copyButton(() => reply.text), link(reply ? "Another reply" : "Ask again", () => actions.resend(turn)))));
}
