// What the server's event streams carry, and what the parts of the page tell each other.
import type { Attachment, Block, Conversation, DocumentText, ErrorBody, ToolUse, Turn } from "./schema.d.ts";

export type { Api } from "./api.js";
export type { Composer } from "./composer.js";
export type * from "./schema.d.ts";

export type ReplyEvent =
  | { event: "accepted"; data: { turn: number; asked_at: string } }
  | { event: "text"; data: { offset: number; text: string } }
  | { event: "html"; data: { keep: number; html: string } }
  | { event: "tool_started"; data: ToolUse }
  | { event: "tool_ended"; data: ToolUse }
  | { event: "retrying"; data: { attempt: number; seconds: number; reason: string } }
  | { event: "cache_loss"; data: { tokens: number; reason: string } }
  | { event: "done"; data: { turn: Turn; notes: string[] } }
  | { event: "failed"; data: { error: ErrorBody; turn: Turn | null } };

export type ReminderDue = { id: number; text: string; line: string; due: string; version: number };

export type PersonEvent =
  | { event: "reminder"; data: ReminderDue }
  | { event: "notice"; data: { text: string } }
  | { event: "turn"; data: { conversation: string; turn: number; state: "began" | "ended" } }
  | { event: "changed"; data: { what: "reminders" | "memories" | "documents" | "settings" | "conversations" } };

export interface Following {
  signal: AbortSignal;
  /** Whether it was the last. */
  onEvent(message: any): boolean;
  onState?(state: "open" | "lost"): void;
}

/** How a reply ended: the turn as the server keeps it, and one line of what went wrong, "" where nothing did. */
export interface Ended { turn: Turn | null; notes: string[]; error: string }

/** A file in base64; `url` shows it within the page. */
export interface PageFile extends Attachment { data: string; bytes: number }

/** A message to be sent; `replaces` is the turn in whose place the conversation goes on, `id` the same whenever it is sent
 * again. */
export interface Message { id: string; text: string; files: PageFile[]; replaces: number | null }

export interface TurnActions { edit(turn: Turn): void; resend(turn: Turn): void; inspect(turn: number): void }

/** `send` rejects when nobody knows that the server has the message. */
export interface Doings { send(message: Message): Promise<void>; stop(): void; typing(text: string): void }

export interface Surroundings {
  opened(conversation: Conversation): void;
  /** There is another newest window. */
  moved(): void;
  inspect(turn: number): void;
  line(lost: boolean): void;
  announce(words: string): void;
}

/** What a tab shows; `show` reads it again. */
export interface Content { show(): void }
export interface Tab { id: string; label: string; mount(root: HTMLElement): Content }

/** Things of a person that are listed, added, edited and deleted. */
export interface Kind<T> {
  path: string;
  /** The label and the example of the field that adds one, and the body that is posted. */
  add: [string, string];
  body(text: string): unknown;
  past: string;
  none: string;
  /** Reads them, also those that are past, and with all of the words in them. */
  load(past: boolean, words: string): Promise<T[]>;
  isPast(item: T): boolean;
  about(item: T): string;
  /** What the row has beside Edit and Delete. */
  more(item: T, act: (work: () => Promise<unknown>) => void): (Node | false)[];
  /** Whether it has a time that can be edited. */
  when: boolean;
}

export type Thing = { id: number; text: string; version: number };

export type Child = Node | string | null | undefined | false;

export type Options = { signal?: AbortSignal; headers?: Record<string, string> };

/** What is being written in a conversation: `kept` is put aside while an earlier message is edited, `sending` is on its way. */
export interface Draft extends Message { kept: string; sending: Message[] }

/** A draft as the browser keeps it: without files. */
export interface KeptDraft {
  text?: string;
  id?: string;
  at?: number;
  /** `whole`: it had no files. */
  sending?: { id: string; text: string; replaces: number | null; whole: boolean }[];
}

/** What the cache did with a token, and where the slider goes. */
export type State = "read" | "written" | "fresh";
export type Way = "turn" | "miss";

/** A block of a window, or a group of neighbours. */
export interface Row {
  /** The same in the next window for what stands for the same. */
  key: string;
  name: string;
  blocks: Block[];
  /** Tokens in front of it. */
  start: number;
  tokens: number;
  /** What most of it is. */
  state: State;
  exact: boolean;
}
export interface Run { area: string; title: string; tokens: number; rows: Row[] }

export interface Source {
  /** What changed in a block since the window before. */
  changeOf(block: Block): Promise<Node | null>;
  /** Reads all of a block's text, where it is kept. */
  textOf(block: Block): (() => Promise<string>) | null;
}

/** What the editor of a document knows of it. */
export type EditedText = Pick<DocumentText, "name" | "updated_at" | "version" | "source" | "text">;
