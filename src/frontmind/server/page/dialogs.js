/** Dialogs: a question, the key, the shortcuts. */

import { said } from "./api.js";
import { button, div, facts, h, submit } from "./dom.js";

/** Shows a dialog until it is closed; gives how. @param {HTMLDialogElement} dialog @returns {Promise<string>} */
function shown(dialog) {
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

/** @param {string} question @param {string} yes what the button says that does it */
export async function confirmed(question, yes) {
  const dialog = h("dialog", { "aria-label": question }, h("p", question), div("row", 
    button("Cancel", () => dialog.close()), button(yes, () => dialog.close("yes"), { class: "danger" })));
  return (await shown(dialog)) === "yes";
}

/** @type {Promise<void> | null} */
let asking = null;

/** Ask for the key until the server takes one; whoever asks meanwhile waits for the same dialog.
 * @param {(key: string) => Promise<void>} login */
export function askForKey(login) {
  asking ??= keyDialog(login).finally(() => { asking = null; });
  return asking;
}

/** @param {(key: string) => Promise<void>} login */
async function keyDialog(login) {
  let taken = false;
  const key = h("input", { id: "key", type: "password", required: true, autocomplete: "current-password" });
  const trouble = h("p", { class: "fault", role: "alert", hidden: true });
  const enter = async () => {
    try {
      await login(key.value.trim());
      taken = true;
      dialog.close();
    } catch (error) {
      trouble.textContent = said(error);
      trouble.hidden = false;
      key.select();
    }
  };
  const dialog = h("dialog", { "aria-label": "Log in" }, h("h2", "Log in"),
    h("p", "This server has accounts. Enter your key; it begins with “fm_”."),
    h("form", { onsubmit: enter }, h("label", { for: "key" }, "Key"), key, trouble, div("row", submit("Log in"))));
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  // A browser closes a dialog at the second Esc, whatever the page says.
  do await shown(dialog); while (!taken);
}

const SHORTCUTS = Object.entries({
  "Enter": "send the message",
  "Shift+Enter": "a new line",
  "Esc": "stop the reply, give up an edit, close a region",
  "/": "to the message field",
  "Alt+↑": "edit the last message",
  "Alt+N": "a new conversation",
  "Alt+I": "show or hide the region at the side",
  "?": "this list",
});

export function showShortcuts() {
  const dialog = h("dialog", { "aria-label": "Shortcuts" }, h("h2", "Shortcuts"),
    facts(SHORTCUTS.map(([keys, does]) => [h("kbd", keys), does])),
    div("row", button("Close", () => dialog.close())));
  void shown(dialog);
}
