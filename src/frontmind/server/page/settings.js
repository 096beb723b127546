/** The panel of the settings: the person's, and what this server is. */

import { button, div, facts, h, submit } from "./dom.js";
import { dropWords } from "./kept.js";
import { Attempts } from "./panels.js";

/** @import {Api, Me} from "./page.d.ts" */

/** @param {HTMLElement} root @param {Api} api @param {(me: Me) => void} changed */
export function mountSettings(root, api, changed) {
  const zones = h("datalist", { id: "zones" }, ...Intl.supportedValuesOf("timeZone").map((value) => h("option", { value })));
  const zone = h("input", { id: "timezone", list: zones.id, autocomplete: "off" });
  const instructions = h("textarea", { id: "instructions", rows: 6 });
  const state = h("span", { class: "muted", role: "status" });
  const about = h("div");
  const attempts = new Attempts();
  const out = button("Log out", () => void attempts.make(async () => {
    await api.post("/api/logout");
    dropWords();
    location.reload();
  }));
  let touched = false;
  const save = () => void attempts.make(async () => {
    take(await api.send("PUT", "/api/me", { timezone: zone.value.trim(), instructions: instructions.value }));
    state.textContent = "Saved. It holds from the next message on.";
  });
  const touch = () => { touched = true; state.textContent = ""; };
  const form = h("form", { class: "edit", oninput: touch, onsubmit: save }, attempts.element,
    h("label", { for: zone.id }, "Your time zone"), zone, zones,
    h("label", { for: instructions.id }, "What the assistant should know or heed in every conversation"), instructions,
    div("row", submit("Save"), state));
  root.append(div("panel", form, h("h2", "This server"), about, out));

  /** @param {Me} me */
  function take(me) {
    touched = false;
    zone.value = me.timezone;
    zone.placeholder = me.zone;
    instructions.value = me.instructions;
    about.replaceChildren(facts([["Time zone", me.zone], ["Model", me.model], ["Version", me.version]]));
    out.hidden = !me.accounts;
    changed(me);
  }

  return { show: () => void (touched || attempts.make(async () => take(await api.get("/api/me")))) };
}
