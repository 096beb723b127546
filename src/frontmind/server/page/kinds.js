/** A panel that lists things of one kind: adds, edits, deletes. What they are it is told. */

import { confirmed } from "./dialogs.js";
import { button, div, h, link, submit } from "./dom.js";
import { Attempts, fieldForm } from "./panels.js";

/** @import {Api, Kind, Thing} from "./page.d.ts" */

/** After so many milliseconds without another letter it is searched. */
const PAUSE = 250;

/** @template {Thing} T @param {HTMLElement} root @param {Api} api @param {Kind<T>} kind */
export function mountKind(root, api, kind) {
  const [label, example] = kind.add;
  const list = h("ul");
  const query = h("input", { type: "search", placeholder: "Search", "aria-label": "Search", oninput: () => {
    clearTimeout(typing);
    typing = setTimeout(refresh, PAUSE);
  } });
  const past = h("input", { type: "checkbox", onchange: () => void refresh() });
  const text = h("input", { id: `new-${kind.path}`, required: true, placeholder: example, autocomplete: "off" });
  const form = fieldForm(label, text, "Add", async () => {
    if (!(await attempts.make(() => api.post(kind.path, kind.body(text.value))))) return;
    text.value = "";
    await refresh();
  });
  const attempts = new Attempts(load);
  /** @type {Map<number, { item: T, line: HTMLElement }>} */
  const rows = new Map();
  let [asked, typing] = [0, 0];
  root.append(div("panel", form, attempts.element, query, h("label", { class: "check" }, past, kind.past), list));

  async function load() {
    const mine = ++asked;
    const words = query.value.trim();
    const found = await kind.load(past.checked, words);
    // An answer that was overtaken by a later question is dropped.
    if (mine !== asked) return;
    rows.clear();
    query.disabled = past.disabled = false;
    list.replaceChildren(...found.map(row));
    if (!found.length) list.append(h("li", { class: "muted" }, words ? "Nothing has these words in it." : kind.none));
  }

  // A form in which somebody writes is not taken away by news from elsewhere.
  const refresh = async () => list.querySelector("form") ?? (await attempts.make(load));

  const act = (/** @type {() => Promise<unknown>} */ work) => void attempts.make(work).then((done) => done && refresh());

  /** @param {T} item */
  function row(item) {
    const remove = async () => {
      const sure = await confirmed(`Delete “${item.text}”? It cannot be brought back.`, "Delete");
      if (sure) act(() => api.send("DELETE", `${kind.path}/${item.id}`));
    };
    const line = h("li", { class: kind.isPast(item) && "past" }, h("p", item.text), h("p", { class: "muted" }, kind.about(item)),
      div("row", link("Edit", () => edit(item, line)), link("Delete", () => void remove()), ...kind.more(item, act)));
    rows.set(item.id, { item, line });
    return line;
  }

  /** @param {T} item @param {HTMLElement} line @param {string} [written] */
  function edit(item, line, written = item.text) {
    const field = h("textarea", { value: written, rows: 2, required: true });
    const when = kind.when && h("input");
    const close = () => {
      form.remove();
      void refresh();
    };
    const save = async () => {
      const body = { text: field.value, version: item.version, ...(when && when.value && { when: when.value }) };
      if (await attempts.make(() => api.send("PATCH", `${kind.path}/${item.id}`, body))) return close();
      // The list was read again: what was written goes on beside what is stored now.
      const now = rows.get(item.id);
      if (now && !form.isConnected) edit(now.item, now.line, field.value);
    };
    const form = h("form", { class: "edit", onsubmit: save }, h("label", "Text", field),
      when && h("label", "When (left empty: as it is)", when), div("row", submit("Save"), button("Cancel", close)));
    line.append(form);
    // The list stays as it is while somebody writes in it.
    query.disabled = past.disabled = true;
    field.focus();
  }

  return { show: () => void refresh() };
}
