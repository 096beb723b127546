/** The panels of the reminders, and of the memories: what the assistant knows of the person. */

import { link } from "./dom.js";
import { moment } from "./format.js";
import { mountKind } from "./kinds.js";
import { snoozeField } from "./notices.js";

/** @import {Api, Kind, Memory, MemoryList, Reminder, ReminderList} from "./page.d.ts" */

/** @param {HTMLElement} root @param {Api} api */
export function mountReminders(root, api) {
  /** @type {Kind<Reminder>} */
  const kind = {
    path: "/api/reminders",
    add: ["Remind me to", "call Anna tomorrow at 9am"],
    body: (phrase) => ({ phrase }),
    past: "Show those that are done",
    none: "No reminders. Add one above, or ask for it in the conversation.",
    load: async (past, words) => {
      const { reminders } = /** @type {ReminderList} */ (await api.get(`${kind.path}?all=${past}`));
      return reminders.filter(({ text }) => words.toLowerCase().split(" ").every((word) => text.toLowerCase().includes(word)));
    },
    isPast: (item) => item.done_at !== null,
    about: ({ done_at: done, overdue, when, repeats, snoozed_until: until }) => done ? `Done ${moment(done)}`
      : [overdue && "Overdue", when, repeats, until && "snoozed"].filter(Boolean).join(" · "),
    more: ({ id, text, done_at: done, version }, act) => done ? [] : [
      link("Done", () => act(() => api.post(`${kind.path}/${id}/done`, { version }))),
      snoozeField(text, (until) => act(() => api.post(`${kind.path}/${id}/snooze`, { until, version }))),
    ],
    when: true,
  };
  return mountKind(root, api, kind);
}

/** @param {HTMLElement} root @param {Api} api */
export function mountMemories(root, api) {
  /** @type {Kind<Memory>} */
  const kind = {
    path: "/api/memories",
    add: ["Remember", "You prefer tea"],
    body: (text) => ({ text }),
    past: "Show those that hold no longer",
    none: "Nothing is remembered yet.",
    load: async (past, words) => {
      const path = `${kind.path}?all=${past}&q=${encodeURIComponent(words)}&limit=500`;
      return /** @type {MemoryList} */ (await api.get(path)).memories;
    },
    isPast: (item) => item.superseded_by !== null,
    about: ({ observed_at: observed, created_at: created, source, happens_at: happens, valid_until: until }) => [
      moment(observed ?? created), source, happens && `happens ${moment(happens)}`, until && `holds until ${moment(until)}`,
    ].filter(Boolean).join(" · "),
    more: (item, act) => [kind.isPast(item) && link("Let it hold again", () => act(() => api.post(`${kind.path}/${item.id}/restore`)))],
    when: false,
  };
  return mountKind(root, api, kind);
}
