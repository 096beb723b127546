/** Server-sent events, taken up again where they were cut. It uses fetch, because EventSource hides the status. It does not
 * know what the events mean. */

import { ApiError } from "./api.js";

/** @import {Api, Following} from "./page.d.ts" */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
// The server says something every 15 seconds; a line that is dead without a word shows by its silence.
const LONGEST_SILENCE = 40_000;

/** Events out of pieces of text, which may end anywhere. */
export class EventParser {
  #rest = "";
  #data = "";
  #event = "";
  #id;

  constructor(id = "") {
    this.#id = this.id = id;
  }

  /** @param {string} piece */
  take(piece) {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line));
  }

  /** @param {string} line */
  #line(line) {
    const [, field, value = ""] = /^(\w*):? ?(.*?)\r?$/s.exec(line) ?? [];
    if (field === "data") this.#data += value;
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    if (line.trim()) return [];
    // Only now: an event that was cut in its middle has not come.
    this.id = this.#id;
    if (!this.#data) return [];
    const message = { event: this.#event, data: JSON.parse(this.#data) };
    this.#data = this.#event = "";
    return [message];
  }
}

/** @param {number} milliseconds @param {AbortSignal} signal @returns {Promise<void>} */
const pause = (milliseconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    reject(signal.reason);
  });
});

/** Does some work until it says that it is done. Rejects with ApiError when the server refuses for good.
 * @param {AbortSignal} signal @param {() => void} lost is told that it did not succeed, and will be done again
 * @param {(heard: () => void) => Promise<boolean>} work calls `heard` when the server has said something */
export async function persist(signal, lost, work) {
  let failures = 0;
  for (;;) {
    let wait = 0;
    failures += 1;
    try {
      if (await work(() => { failures = 0; })) return;
    } catch (error) {
      if (signal.aborted || error instanceof SyntaxError) throw error;
      if (error instanceof ApiError) {
        if (error.status > 0 && error.status < 500 && error.status !== 429) throw error;
        wait = error.after * 1000;
      }
    }
    lost();
    const backing = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2);
    await pause(Math.max(wait, backing), signal);
  }
}

/** Reads one connection; whether it came to the end, and was not cut.
 * @param {Api} api @param {string} path @param {EventParser} parser @param {Following} following
 * @param {() => void} heard */
async function connection(api, path, parser, { signal, onEvent, onState }, heard) {
  const cut = new AbortController();
  const stop = () => cut.abort();
  signal.addEventListener("abort", stop, { signal: cut.signal });
  let watch = setTimeout(stop, LONGEST_SILENCE);
  try {
    const response = await api.fetch(path, { headers: parser.id ? { "Last-Event-ID": parser.id } : {}, signal: cut.signal });
    onState?.("open");
    // No content: there is nothing behind what has come.
    if (response.status === 204) return true;
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done || value === undefined) return false;
      heard();
      clearTimeout(watch);
      watch = setTimeout(stop, LONGEST_SILENCE);
      for (const message of parser.take(value)) {
        if (onEvent(message)) return true;
      }
    }
  } finally {
    clearTimeout(watch);
    stop();
  }
}

/** Follows a stream until `onEvent` says that it has ended, over any number of connections.
 * @param {Api} api @param {string} path @param {Following} following */
export async function follow(api, path, following) {
  let parser = new EventParser();
  await persist(following.signal, () => following.onState?.("lost"), (heard) => {
    // What was left of a message when the line was cut comes again whole.
    parser = new EventParser(parser.id);
    return connection(api, path, parser, following, heard);
  });
}
