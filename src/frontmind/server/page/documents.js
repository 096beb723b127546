/** The panel of the domaindocs: a list, and an editor for one. */

import { confirmed } from "./dialogs.js";
import { button, div, h, link } from "./dom.js";
import { counted, moment } from "./format.js";
import { words } from "./kept.js";
import { Attempts, fieldForm } from "./panels.js";

/** @import {Api, Document, DocumentList, EditedText} from "./page.d.ts" */

/** @param {string} name */
const pathOf = (name) => `/api/documents/${encodeURIComponent(name)}`;

/** @param {HTMLElement} root @param {Api} api */
export function mountDocuments(root, api) {
  const list = h("ul");
  const name = h("input", { id: "document-name", required: true, placeholder: "recipes", autocomplete: "off" });
  const form = fieldForm("New document", name, "Write", () => {
    open({ name: name.value.trim(), updated_at: "", version: 0, source: "", text: "" });
    name.value = "";
  });
  const attempts = new Attempts(load);
  const listing = [form, h("p", { class: "muted" }, "Documents that are on stand in the system prompt."), attempts.element, list];
  const panel = div("panel", ...listing);
  root.append(panel);

  async function load() {
    const { documents } = /** @type {DocumentList} */ (await api.get("/api/documents"));
    list.replaceChildren(...documents.map(row));
    if (!documents.length) list.append(h("li", { class: "muted" }, "No documents yet."));
  }

  /** @param {Document} document */
  function row({ name: title, enabled, tokens, updated_at: at, source }) {
    const act = (/** @type {() => Promise<unknown>} */ work) => void attempts.make(() => work().then(load));
    const on = h("input", { type: "checkbox", checked: enabled,
      onchange: () => act(() => api.send("PATCH", pathOf(title), { enabled: on.checked })) });
    const remove = async () => {
      const sure = await confirmed(`Delete the document “${title}” with all of its versions?`, "Delete");
      if (sure) act(() => api.send("DELETE", pathOf(title)));
    };
    const facts = [`about ${counted(tokens, "token")}`, `changed ${moment(at)}`, source && `follows a ${source}`];
    return h("li", h("label", { class: "check" }, on, title), h("p", { class: "muted" }, facts.filter(Boolean).join(" · ")),
      div("row", link("Edit", () => void attempts.make(async () => open(await api.get(pathOf(title))))),
        link("Delete", () => void remove())));
  }

  /** @param {EditedText} document */
  function open(document) {
    panel.replaceChildren(editor(api, document, () => {
      panel.replaceChildren(...listing);
      void attempts.make(load);
    }));
    panel.querySelector("textarea")?.focus();
  }

  return { show: () => void (list.isConnected && attempts.make(load)) };
}

/** @param {Api} api @param {EditedText} opened @param {() => void} close */
function editor(api, opened, close) {
  const draft = `document/${opened.name}`;
  const path = pathOf(opened.name);
  const source = h("textarea", { class: "source", id: "document-text", readOnly: opened.source !== "",
    oninput: () => words(draft, source.value) });
  const state = h("p", { class: "muted", role: "status" });
  const theirs = div("row");
  const attempts = new Attempts(reload);
  let stored = opened;

  /** @param {EditedText} document */
  function take(document) {
    stored = document;
    source.value = document.text;
    words(draft, null);
    state.textContent = document.source ? "This one follows a file: change the file."
      : document.version ? `Version ${document.version}, ${moment(document.updated_at)}` : "Not stored yet";
    theirs.replaceChildren();
  }

  // What was written here stays in the field until its writer has decided.
  async function reload() {
    const now = /** @type {EditedText} */ (await api.get(path));
    stored = { ...now, text: stored.text };
    theirs.replaceChildren(button("Take the text as it is now", () => void attempts.make(() => take(now))), "or save again to put yours in its place.");
  }

  const save = async () => take(await api.send("PUT", path, { text: source.value, expected: stored.version }));
  const undo = async () => take(await api.post(`${path}/undo`, { expected: stored.version }));
  const leave = async () => {
    if (source.value !== stored.text && !(await confirmed("Leave without storing what you wrote?", "Leave"))) return;
    words(draft, null);
    close();
  };
  const before = words(draft);
  take(opened);
  if (before !== null) words(draft, (source.value = before));
  return h("div", div("row", link("All documents", () => void leave()), state),
    attempts.element, theirs, h("label", { for: source.id }, opened.name), source,
    !opened.source && div("row", button("Save", () => void attempts.make(save), { class: "main" }),
      button("Undo the last change", () => void attempts.make(undo))));
}
