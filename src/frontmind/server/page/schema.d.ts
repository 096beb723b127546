// The values of the HTTP API, written by tests/page/generate_types.py from the server's schema.

export type Area = "tools" | "system" | "history" | "notification" | "turn" | "rest";

export interface Attachment {
  kind: "image" | "document";
  media_type: string;
  name: string;
  url: string;
}

export interface Block {
  id: number;
  area: Area;
  name: string;
  role: string;
  kind: string;
  trinket: string;
  place: string;
  text: string;
  length: number;
  tokens: number;
  exact: boolean;
  read: number;
  written: number;
  fresh: number;
  age: string;
  why: string;
  change: "same" | "new" | "changed";
}

export interface BlockChanged {
  name: string;
  area: Area;
  place: string;
  kind: "added" | "removed" | "changed";
  before: string;
  after: string;
  lines: ChangedLine[];
}

export interface BlockText {
  id: number;
  text: string;
  length: number;
}

export interface CallList {
  calls: CallRow[];
}

export interface CallRow {
  turn: number;
  step: number;
  purpose: string;
  sent_at: string;
  model: string;
  layout: string;
  request: string;
  usage: Usage | null;
  cost: string | null;
  full_price: string | null;
  cause: string;
  reason: string;
  lost: number;
  missed: boolean;
}

export interface ChangedLine {
  op: " " | "-" | "+";
  text: string;
}

export interface Completed {
  version?: number | null;
}

export interface Conversation {
  name: string;
  title: string;
  started_at: string | null;
  last_at: string | null;
  turns: number;
  last: number;
  running: number | null;
}

export interface ConversationList {
  conversations: Conversation[];
  next: string | null;
}

export interface Document {
  name: string;
  enabled: boolean;
  updated_at: string;
  version: number;
  collapsed: string[];
  source: string;
  tokens: number;
  sections: Section[];
}

export interface DocumentChange {
  enabled?: boolean | null;
  collapsed?: string[] | null;
}

export interface DocumentList {
  documents: Document[];
}

export interface DocumentText {
  name: string;
  enabled: boolean;
  updated_at: string;
  version: number;
  collapsed: string[];
  source: string;
  tokens: number;
  sections: Section[];
  text: string;
}

export interface DocumentVersion {
  version: number;
  parent: number | null;
  at: string;
  by: string;
  text: string;
}

export interface DocumentVersions {
  versions: DocumentVersion[];
}

export interface ErrorBody {
  code: "conflict" | "conversation_busy" | "forbidden_host" | "forbidden_origin" | "internal" | "invalid_json" | "invalid_request" | "key_expired" | "key_revoked" | "method_not_allowed" | "model_failed" | "model_unavailable" | "not_found" | "rate_limited" | "shutting_down" | "stopped" | "store_failed" | "too_large" | "too_many_requests_at_once" | "unauthorized" | "unsupported_media_type";
  message: string;
  type: string;
}

export interface ErrorReply {
  error: ErrorBody;
}

export interface FailedSection {
  section: string;
  since: string;
  reason: string;
}

export interface Find {
  kind: PassageKind;
  text: string;
  at: string;
  conversation: string;
  turn: number;
  memory: number | null;
  superseded: boolean;
}

export interface Finds {
  finds: Find[];
}

export interface Health {
  status: "ok" | "shutting_down";
  version: string;
  model: string;
}

export interface Ledger {
  rows: LedgerRow[];
  total: LedgerRow;
}

export type LedgerBy = "model" | "day" | "conversation" | "trinket" | "layout";

export interface LedgerRow {
  key: string;
  calls: number;
  input: number;
  cached: number;
  written: number;
  fresh: number;
  output: number;
  cost: string | null;
  full_price: string | null;
  saved: string | null;
  misses: number;
}

export interface LeftOut {
  name: string;
  trinket: string;
  why: string;
}

export interface Login {
  key: string;
}

export interface Me {
  name: string;
  accounts: boolean;
  timezone: string;
  instructions: string;
  zone: string;
  model: string;
  framing: string;
  version: string;
  now: string;
}

export interface Memory {
  id: number;
  text: string;
  created_at: string;
  observed_at: string | null;
  happens_at: string | null;
  valid_until: string | null;
  superseded_by: number | null;
  importance: number;
  source: string;
  version: number;
}

export interface MemoryChange {
  text?: string | null;
  valid_until?: string | null;
  happens_at?: string | null;
  version: number;
}

export interface MemoryList {
  memories: Memory[];
  total: number;
}

export interface NewMemory {
  text: string;
}

export interface NewReminder {
  phrase: string;
}

export interface NewSettings {
  timezone: string;
  instructions: string;
}

export interface NewText {
  text: string;
  expected: number;
}

export interface NewTurn {
  text: string;
  attachments?: SentAttachment[];
  replaces?: number | null;
  wait?: boolean;
}

export type PassageKind = "exchange" | "memory" | "document";

export interface PreviewAsked {
  text: string;
  replaces?: number | null;
}

export interface Reminder {
  id: number;
  text: string;
  due: string;
  when: string;
  zone: string;
  rrule: string;
  repeats: string;
  done_at: string | null;
  snoozed_until: string | null;
  overdue: boolean;
  version: number;
}

export interface ReminderChange {
  text?: string | null;
  when?: string | null;
  version?: number | null;
}

export interface ReminderList {
  reminders: Reminder[];
}

export interface Said {
  text: string;
  html: string;
  attachments: Attachment[];
}

export interface Section {
  name: string;
  title: string;
  level: number;
}

export interface SentAttachment {
  media_type?: string;
  data: string;
  name?: string;
}

export interface Snooze {
  until: string;
  version?: number | null;
}

export interface ToolUse {
  id: string;
  name: string;
  arguments: string;
  result: string | null;
  is_error: boolean;
}

export interface TrinketList {
  trinkets: TrinketState[];
}

export interface TrinketState {
  section: string;
  trinket: string;
  placement: "system" | "notification";
  content: string;
  tokens: number;
  cache_policy: boolean;
  author: "application" | "others";
  observed_at: string | null;
  failure: string | null;
  empty: boolean;
}

export interface Turn {
  number: number;
  segment: number;
  state: "open" | "done";
  asked_at: string;
  answered_at: string | null;
  user: Said;
  reply: Said | null;
  steps: TurnStep[];
  model: string | null;
  interrupted: boolean;
  waits_for: ToolUse[];
  usage: Usage | null;
  cost: string | null;
  cache: TurnCache | null;
  running: boolean;
}

export interface TurnBegun {
  conversation: string;
  turn: number;
}

export interface TurnCache {
  missed: boolean;
  reason: string;
}

export interface TurnList {
  turns: Turn[];
}

export interface TurnStep {
  text: string;
  html: string;
  calls: ToolUse[];
}

export interface Undo {
  expected: number;
}

export interface Usage {
  input: number;
  cached: number;
  written: number;
  fresh: number;
  output: number;
  estimated: boolean;
}

export interface WindowCache {
  cause: string;
  reason: string;
  lost: number;
  place: string;
  before: string;
  after: string;
  diagnosis: string;
}

export interface WindowDiff {
  turn: number;
  with: number | null;
  first_difference: string;
  common: number;
  changes: BlockChanged[];
  omitted: number;
}

export interface WindowView {
  conversation: string;
  turn: number;
  step: number;
  steps: number;
  sent_at: string | null;
  model: string;
  framing: string;
  framing_reason: string;
  request: string;
  total: number;
  exact: boolean;
  usage: Usage | null;
  expected: Usage | null;
  cost: string | null;
  full_price: string | null;
  cache: WindowCache;
  blocks: Block[];
  dropped: LeftOut[];
  failures: FailedSection[];
}
