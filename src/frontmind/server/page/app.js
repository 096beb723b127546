/** The page: puts its parts together, opens the conversation that the address names, and hears what happens elsewhere. */

import { Api, said } from "./api.js";
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { addressOf, ConversationList, nameIn, newName, titleOf } from "./conversations.js";
import { askForKey, showShortcuts } from "./dialogs.js";
import { mountDocuments } from "./documents.js";
import { at, button, link } from "./dom.js";
import { Inspector } from "./inspector.js";
import { dropWords, keepFor } from "./kept.js";
import { Notices } from "./notices.js";
import { Panels } from "./panels.js";
import { mountSettings } from "./settings.js";
import { Shell, switchTheme } from "./shell.js";
import { follow, persist } from "./stream.js";
import { mountMemories, mountReminders } from "./things.js";

/** @import {Conversation, Me, PersonEvent} from "./page.d.ts" */

const TYPING_PAUSE = 400;
/** As long as the page is there. */
const { signal } = new AbortController();

const line = (/** @type {boolean} */ lost) => { at("lost").hidden = !lost; };
const announce = (/** @type {string} */ words) => { at("announcer").textContent = words; };
/** @type {Api} */
const api = new Api(() => askForKey(async (key) => {
  await api.post("/api/login", { key });
  const response = await fetch("/api/me");
  if (!response.ok) throw new Error("The browser does not send the login back: let it keep cookies of this address.");
  const { name } = /** @type {Me} */ (await response.json());
  if (name !== (person ?? name)) {
    // Another person: nothing of the first one stays, and nothing that was asked for is asked again.
    dropWords();
    location.reload();
    await new Promise(() => {});
  }
}));
/** @type {string | undefined} whom the page was opened for */
let person;
const list = new ConversationList(at("conversations-list"), api);
const notices = new Notices(at("notices"), api, announce);
const shell = new Shell(at("app"), () => panels.refresh());
/** @type {Inspector | null} */
let inspector = null;
const panels = new Panels(at("side"), [
  { id: "inspector", label: "Inspector", mount: (root) => {
    const mounted = (inspector = new Inspector(root, api));
    return { show: () => mounted.show(chat.conversation, null) };
  } },
  { id: "reminders", label: "Reminders", mount: (root) => mountReminders(root, api) },
  { id: "memories", label: "Memories", mount: (root) => mountMemories(root, api) },
  { id: "documents", label: "Documents", mount: (root) => mountDocuments(root, api) },
  { id: "settings", label: "Settings", mount: (root) => mountSettings(root, api, showMe) },
], () => shell.side(false));

const chat = new Chat(api, at("transcript"), at("turns"), {
  opened: (conversation) => {
    showTitle(conversation);
    void list.open(conversation);
  },
  moved: () => {
    inspector?.typing(chat.conversation, chat.composer.text.value);
    if (shell.sideShown) panels.changed("inspector");
  },
  inspect: (turn) => {
    shell.side(true);
    panels.open("inspector");
    inspector?.show(chat.conversation, turn);
  },
  line,
  announce,
});

let typing = 0;
chat.composer = new Composer(at("composer"), {
  send: (message) => chat.send(message),
  stop: () => void chat.stop(),
  typing: (text) => {
    clearTimeout(typing);
    // While a turn runs nobody knows what the next window will be; it is asked for when the turn has ended.
    typing = setTimeout(() => chat.running ?? inspector?.typing(chat.conversation, text), TYPING_PAUSE);
  },
});

/** @param {Conversation} conversation */
function showTitle(conversation) {
  at("title").textContent = titleOf(conversation);
  document.title = `${titleOf(conversation)} – Frontmind`;
}

/** @param {Me} me */
function showMe(me) {
  at("person").textContent = me.name;
  at("model").textContent = me.model;
}

async function openAddressed() {
  shell.closeOverlay();
  const name = nameIn(location.hash);
  if (matchMedia("(hover: hover)").matches) chat.composer.text.focus();
  if (name && name !== chat.conversation) await chat.open(name);
}

/** @param {PersonEvent} message */
function hear({ event, data }) {
  if (event === "reminder") notices.remind(data);
  else if (event === "notice") notices.tell(data.text);
  else if (event === "changed") panels.changed(data.what);
  else if (data.conversation === chat.conversation) chat.elsewhere(data.turn);
  if (event === "changed" && data.what === "reminders") void notices.check();
  if (event === "turn" || (event === "changed" && data.what === "conversations")) void refreshList();
  return false;
}

async function refreshList() {
  const open = (await list.refresh()).find(({ name }) => name === chat.conversation);
  if (open) showTitle(open);
}

/** Hears what happens from now on. */
async function listen() {
  let cut = false;
  await follow(api, "/api/events", {
    signal,
    onEvent: hear,
    onState: (state) => {
      if (chat.running === null) line(state === "lost");
      if (state === "open" && cut) {
        void chat.read();
        void notices.check();
      }
      cut = state === "lost";
    },
  });
}

/** @param {KeyboardEvent} event */
function shortcut(event) {
  const { target, altKey } = event;
  const writes = target instanceof HTMLElement && target.matches("input, textarea, select");
  if (document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.isComposing) return;
  // With Alt, some systems write another letter.
  const key = altKey ? event.code : event.key;
  /** @type {Record<string, () => unknown>} */
  const keys = altKey
    ? { ArrowUp: () => chat.editLast(), KeyN: startNew, KeyI: () => shell.side(!shell.sideShown) }
    : { Escape: () => shell.closeOverlay() || (writes && target.id !== "message") || chat.composer.cancel() || chat.stop(),
      ...(!writes && { "/": () => chat.composer.text.focus(), "?": showShortcuts }) };
  if (!Object.hasOwn(keys, key)) return;
  event.preventDefault();
  keys[key]?.();
}

function startNew() {
  location.hash = addressOf(newName());
}

async function start() {
  at("conversations-new").append(button("New conversation", startNew, { icon: "plus" }));
  const theme = link("Theme", () => { theme.textContent = switchTheme(); });
  at("conversations-foot").append(theme, link("Shortcuts", showShortcuts));
  at("bar-start").append(button("Conversations", () => shell.open("list"), { icon: "menu" }));
  at("bar-end").append(button("Inspector and panels", () => shell.side(!shell.sideShown), { icon: "side" }));
  addEventListener("keydown", shortcut);
  // Forms are sent by script alone.
  addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => void openAddressed());
  await persist(signal, () => line(true), async () => {
    const me = /** @type {Me} */ (await api.get("/api/me"));
    keepFor((person = me.name));
    showMe(me);
    return true;
  });
  line(false);
  if (!nameIn(location.hash)) history.replaceState(null, "", addressOf((await list.refresh())[0]?.name ?? "main"));
  await openAddressed();
  if (shell.sideShown) panels.refresh();
  await listen();
}

start().catch((error) => notices.tell(said(error)));
