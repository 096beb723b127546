/** The message being written: text, files, what it replaces. It does not know how a message is sent. */

import { said } from "./api.js";
import { button, div, h, icon, link } from "./dom.js";
import { size } from "./format.js";
import { words } from "./kept.js";

/** @import {Doings, Draft, KeptDraft, Message, PageFile} from "./page.d.ts" */

// The server takes bodies of 20 MB; base64 makes four bytes of three.
const LARGEST = 14e6;
/** The server remembers the id of a message for some minutes: only so long is it sent again without being asked. */
const RECENT = 60_000;

/** @param {Blob} blob @param {string} name @returns {Promise<PageFile>} */
export function readFile(blob, name) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(new Error(`${name} cannot be read: ${reader.error?.message}`));
    reader.onload = () => {
      const data = String(reader.result).replace(/^[^,]*,/, "");
      const kind = blob.type.startsWith("image/") ? "image" : "document";
      resolve({ kind, name, media_type: blob.type, data, url: URL.createObjectURL(blob), bytes: blob.size });
    };
    reader.readAsDataURL(blob);
  });
}

/** Of a message: what comes to the server once more under its id, and is the same, is not said twice. */
export const newId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** @param {string} conversation */
const keyOf = (conversation) => `draft/${conversation}`;

/** @param {...string} texts */
const joined = (...texts) => texts.filter(Boolean).join("\n\n");

export class Composer {
  #conversation = "";
  #running = false;
  /** @type {Map<string, Draft>} by conversation */ #drafts = new Map();
  text = h("textarea", { id: "message", rows: 1, placeholder: "Message", "aria-label": "Message" });
  #picker = h("input", { type: "file", multiple: true, accept: "image/*,application/pdf,text/*", hidden: true });
  #go = h("button", { type: "submit", class: "main" });
  #list = div("files");
  #editing = h("p", { class: "editing" });
  #trouble = h("p", { class: "fault", role: "alert", hidden: true });

  /** @param {HTMLElement} form @param {Doings} doings */
  constructor(form, doings) {
    this.doings = doings;
    const attach = button("Attach files", () => this.#picker.click(), { icon: "clip", title: `Attach files, up to ${size(LARGEST)}` });
    form.append(this.#editing, this.#trouble, this.#list, this.#picker, div("field", attach, this.text, this.#go),
      h("p", { class: "hint", id: "model" }));
    this.#listen(form);
  }

  /** @param {string} conversation */
  open(conversation) {
    // What was typed before the first conversation was there is meant for it.
    const early = this.#conversation ? "" : this.text.value;
    this.#conversation = conversation;
    this.complain("");
    if (!this.#drafts.has(conversation)) this.#take(early);
    this.#show();
  }

  /** What the browser has kept. One that was on its way when the page was closed is sent again.
   * @param {string} early */
  #take(early) {
    /** @type {KeptDraft} */
    const { text = "", id = newId(), at = 0, sending = [] } = JSON.parse(words(keyOf(this.#conversation)) ?? "{}");
    const draft = { id, text: joined(text, early), files: [], replaces: null, kept: "", sending: [] };
    this.#drafts.set(this.#conversation, draft);
    for (const { whole, ...message } of sending) {
      if (whole && Date.now() - at < RECENT) void this.#send({ ...message, files: [] });
      else Object.assign(draft, { id: message.id, text: joined(message.text, draft.text) });
    }
  }

  /** @param {Message} message to be sent again in another form */
  edit(message) {
    const draft = this.#draft;
    Object.assign(draft, message, { kept: draft.replaces === null ? draft.text : draft.kept });
    this.#show();
    this.text.focus();
  }

  /** Whether an edit was given up. */
  cancel() {
    const draft = this.#draft;
    if (draft.replaces === null) return false;
    Object.assign(draft, { id: newId(), text: draft.kept, files: [], replaces: null, kept: "" });
    this.#show();
    return true;
  }

  /** @param {boolean} running */
  running(running) {
    this.#running = running;
    if (this.#conversation) this.#buttons();
  }

  /** @param {string} words "" when all is well */
  complain(words) {
    this.#trouble.textContent = words;
    this.#trouble.hidden = !words;
  }

  get #draft() {
    return /** @type {Draft} */ (this.#drafts.get(this.#conversation));
  }

  get #empty() {
    return !this.#draft || (!this.text.value.trim() && !this.#draft.files.length);
  }

  #store(conversation = this.#conversation) {
    const { id, text, kept, replaces, sending } = /** @type {Draft} */ (this.#drafts.get(conversation));
    const now = replaces === null ? { id, text } : { text: kept };
    const away = sending.map(({ files, ...message }) => ({ ...message, whole: !files.length }));
    words(keyOf(conversation), JSON.stringify({ ...now, at: Date.now(), sending: away }));
  }

  #buttons() {
    const stops = this.#running && this.#empty;
    this.#go.ariaLabel = this.#go.title = stops ? "Stop the reply (Esc)" : "Send the message";
    this.#go.replaceChildren(icon(stops ? "stop" : "send"));
  }

  #show() {
    const { text, files, replaces } = this.#draft;
    this.text.value = text;
    this.#editing.hidden = replaces === null;
    this.#editing.replaceChildren(`Editing message ${replaces}: it and all that came after it is replaced. `, link("Cancel", () => this.cancel()));
    this.#list.replaceChildren(...files.map((file) => h("span", file.kind === "image" && h("img", { src: file.url, alt: "" }),
      `${file.name} (${size(file.bytes)})`, button(`Remove ${file.name}`, () => this.#drop(file), { icon: "close" }))));
    this.#buttons();
  }

  /** @param {PageFile} file */
  #drop(file) {
    this.#draft.files = this.#draft.files.filter((other) => other !== file);
    this.#show();
    this.text.focus();
  }

  /** @param {HTMLElement} form */
  #listen(form) {
    form.addEventListener("submit", () => {
      if (!this.#empty) void this.#send(this.#next());
      else if (this.#running) this.doings.stop();
    });
    this.text.addEventListener("input", () => {
      if (!this.#draft) return;
      this.#draft.text = this.text.value;
      this.#store();
      this.#buttons();
      this.doings.typing(this.text.value);
    });
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.#empty) void this.#send(this.#next());
    });
    this.text.addEventListener("paste", (event) => {
      const files = event.clipboardData?.files;
      if (files?.length) event.preventDefault();
      void this.#add(files);
    });
    this.#picker.addEventListener("change", async () => {
      await this.#add(this.#picker.files);
      this.#picker.value = "";
    });
    for (const kind of /** @type {const} */ (["dragover", "dragleave", "drop"])) {
      document.addEventListener(kind, (event) => {
        event.preventDefault();
        form.classList.toggle("over", kind === "dragover");
        if (kind === "drop") void this.#add(event.dataTransfer?.files);
      });
    }
  }

  /** @param {FileList | null | undefined} files */
  async #add(files) {
    const draft = this.#draft;
    for (const file of [...(files ?? [])]) {
      try {
        const sum = draft.files.reduce((all, { bytes }) => all + bytes, file.size);
        if (sum > LARGEST) throw new Error(`${file.name} does not fit: a message takes files of ${size(LARGEST)} in all.`);
        draft.files = [...draft.files, await readFile(file, file.name)];
      } catch (error) {
        this.complain(said(error));
      }
    }
    this.#show();
  }

  #next() {
    const draft = this.#draft;
    const { id, text, files, replaces } = draft;
    const message = { id, text: text.trim(), files, replaces };
    Object.assign(draft, { id: newId(), text: draft.kept, files: [], replaces: null, kept: "" });
    return message;
  }

  /** @param {Message} message */
  async #send(message) {
    const conversation = this.#conversation;
    const draft = this.#draft;
    draft.sending = [...draft.sending, message];
    this.#store();
    this.complain("");
    this.#show();
    let trouble = "";
    try {
      await this.doings.send(message);
    } catch (error) {
      trouble = `Not sent: ${said(error)}`;
      const { id, text, files, replaces } = message;
      if (replaces !== null) Object.assign(draft, { ...message, kept: draft.text });
      else Object.assign(draft, { id, text: joined(text, draft.text), files: [...files, ...draft.files] });
    }
    draft.sending = draft.sending.filter((other) => other !== message);
    this.#store(conversation);
    if (!trouble || conversation !== this.#conversation) return;
    this.#show();
    this.complain(trouble);
  }
}
