/** Elements made from script: text stays text, and one function takes the server's HTML. */

import { aborted, said } from "./api.js";

/** @import {Child} from "./page.d.ts" */

/**
 * @template {keyof HTMLElementTagNameMap} K @param {K} tag
 * @param {Record<string, unknown> | Child} [props] `class`, `on…` listeners, properties; names with a dash are attributes;
 * or the first child
 * @param {...Child} children @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  if (typeof props === "string" || props instanceof Node) return h(tag, {}, props, ...children);
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = String(value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (/-|^role$|^for$|^list$/.test(name)) element.setAttribute(name, String(value));
    else Reflect.set(element, name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** @param {string} name its class @param {...Child} children */
export const div = (name, ...children) => h("div", { class: name }, ...children);

/**
 * The only place where markup is read: `html` is a field that the server rendered and sanitised. The first `keep` children
 * stay; the new ones are given back.
 * @param {Element} element @param {string} html @param {number} [keep]
 */
export function setSafeHtml(element, html, keep = 0) {
  const template = document.createElement("template");
  template.innerHTML = html;
  while (element.children.length > keep) element.lastElementChild?.remove();
  const fresh = [...template.content.children];
  element.append(...fresh);
  return fresh;
}

/** @param {string} id of an element of the document */
export const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const PATHS = {
  plus: "M8 3v10M3 8h10",
  send: "M8 13V3M4 7l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  clip: "M12.5 7.5 7.7 12.3a3 3 0 0 1-4.3-4.3L8.6 2.8a2 2 0 0 1 2.9 2.9L6.4 10.8a1 1 0 0 1-1.4-1.4l4.3-4.3",
  close: "M4 4l8 8M12 4l-8 8",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  side: "M2.5 3.5h11v9h-11zM9.5 3.5v9",
};

/**
 * @template {keyof SVGElementTagNameMap} T @param {T} tag
 * @param {Record<string, string | number>} attributes presentation by class and attribute, never by style
 * @param {...(Node | string)} children
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @param {keyof typeof PATHS} name */
export const icon = (name) => svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));

/**
 * A button; with an icon its label is read out and shown as its title.
 * @param {string} label @param {(event: MouseEvent) => void} onclick
 * @param {{ class?: string, icon?: keyof typeof PATHS, title?: string }} [look]
 */
export function button(label, onclick, look = {}) {
  const named = look.icon && { "aria-label": label, title: look.title ?? label };
  return h("button", { type: "button", class: look.class, title: look.title, onclick, ...named }, look.icon ? icon(look.icon) : label);
}

/** @param {string} label @param {(event: MouseEvent) => void} onclick */
export const link = (label, onclick) => button(label, onclick, { class: "link" });

/** @param {string} label */
export const submit = (label) => h("button", { type: "submit", class: "main" }, label);

/** @param {string} text */
export const note = (text) => h("p", { class: "note" }, text);

/** What went wrong, and a way on. @param {string} text @param {() => void} retry */
export const fault = (text, retry) => h("div", { class: "fault", role: "alert" }, h("p", text), button("Try again", retry));

/** Names and what they stand for. @param {[Child, Child][]} entries those without a value are left out */
export function facts(entries, name = "facts") {
  const rows = entries.filter(([, value]) => value);
  return h("dl", { class: name }, ...rows.map(([term, value]) => h("div", h("dt", term), h("dd", value))));
}

/** Text that may be long: it scrolls by itself. @param {string} label @param {...Child} text */
export function passage(label, ...text) {
  return h("pre", { tabIndex: 0, role: "group", "aria-label": label }, ...text);
}

/** A part that is filled each time it is opened. @param {Child} title @param {(body: HTMLElement) => void} fill */
export function folded(title, fill) {
  const body = h("div", { class: "body" });
  const ontoggle = () => {
    body.replaceChildren();
    if (details.open) fill(body);
  };
  const details = h("details", { ontoggle }, h("summary", title), body);
  return details;
}

/** @param {HTMLElement} box where it is said when the work fails @param {() => Promise<void>} work */
export async function attempt(box, work) {
  try {
    await work();
  } catch (error) {
    if (!aborted(error)) box.replaceChildren(fault(said(error), () => attempt(box, work)));
  }
}
