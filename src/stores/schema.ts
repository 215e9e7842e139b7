import { runsSchema } from './schema-runs.ts'

/** Counts the changes of the schema below; each one is additive: new tables, new indexes, new columns that may be null. */
export const schemaVersion = 17

/** The whole store; what belongs to runs is in a file of its own. */
export const schema = `
CREATE TABLE IF NOT EXISTS snapshots (
  id TEXT PRIMARY KEY,
  path TEXT NOT NULL,
  ts INTEGER NOT NULL,
  sha256 TEXT,
  bytes INTEGER NOT NULL,
  kind TEXT NOT NULL,
  call TEXT,
  session TEXT,
  idem_key TEXT,
  before_id TEXT,
  undone_by TEXT,
  state TEXT NOT NULL,
  temporary TEXT,
  made_folders TEXT,
  undoes TEXT,
  form TEXT,
  mode INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS snapshots_by_path ON snapshots (path, ts);
CREATE INDEX IF NOT EXISTS snapshots_kept ON snapshots (path, ts, id) WHERE state = 'kept';
CREATE INDEX IF NOT EXISTS snapshots_newest ON snapshots (ts, id) WHERE state = 'kept';
CREATE INDEX IF NOT EXISTS snapshots_by_time ON snapshots (ts);
CREATE INDEX IF NOT EXISTS snapshots_by_call ON snapshots (call);
CREATE INDEX IF NOT EXISTS snapshots_by_session ON snapshots (session, ts);
CREATE INDEX IF NOT EXISTS snapshots_by_content ON snapshots (sha256);
CREATE INDEX IF NOT EXISTS snapshots_by_undo ON snapshots (undone_by) WHERE undone_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS snapshots_pending ON snapshots (ts) WHERE state = 'pending';

-- A change of many files is written down a few rows at a time. Where its process dies half way, its pending rows are dropped, since
-- nothing of it was done yet ('drop'), or kept, since all of it was ('keep').
CREATE TABLE IF NOT EXISTS commits (
  call TEXT PRIMARY KEY,
  phase TEXT NOT NULL
) STRICT;

-- Which folder a root's name stands for in what is kept.
CREATE TABLE IF NOT EXISTS roots (
  name TEXT PRIMARY KEY,
  path TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS approvals (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  state_digest TEXT NOT NULL,
  session TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER,
  decided_by TEXT,
  note TEXT,
  body TEXT NOT NULL,
  surface TEXT,
  client TEXT,
  whole INTEGER,
  no_until INTEGER,
  answering INTEGER,
  shown INTEGER,
  call TEXT,
  keeps TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS approvals_by_input ON approvals (input_digest, created_at);
CREATE INDEX IF NOT EXISTS approvals_by_state ON approvals (state, created_at);

-- Files that a change would have taken away which a person declined: whoever changes them asks. A path that ends in '/' is a whole folder.
CREATE TABLE IF NOT EXISTS declined (
  path TEXT NOT NULL,
  approval TEXT NOT NULL,
  PRIMARY KEY (path, approval)
) STRICT;
CREATE INDEX IF NOT EXISTS declined_by_approval ON declined (approval);

-- Calls that wait for a person, or go on after the answer: from before the question until the end is in the log.
CREATE TABLE IF NOT EXISTS suspended (
  call TEXT PRIMARY KEY,
  approval TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  session TEXT NOT NULL,
  holder TEXT NOT NULL,
  ending TEXT NOT NULL,
  follows INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS suspended_by_input ON suspended (input_digest, session);
CREATE INDEX IF NOT EXISTS suspended_by_approval ON suspended (approval);

CREATE TABLE IF NOT EXISTS cards (
  approval TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS card_texts (
  approval TEXT NOT NULL,
  path TEXT NOT NULL,
  part INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (approval, path, part)
) STRICT;

CREATE TABLE IF NOT EXISTS pins (
  call TEXT PRIMARY KEY,
  tool TEXT NOT NULL,
  scope TEXT NOT NULL,
  process TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS idempotency (
  tool TEXT NOT NULL,
  key TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  output TEXT NOT NULL,
  call TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (tool, key)
) STRICT;

CREATE INDEX IF NOT EXISTS idempotency_by_time ON idempotency (at);
CREATE INDEX IF NOT EXISTS idempotency_by_call ON idempotency (call);

CREATE TABLE IF NOT EXISTS rehearsals (
  session TEXT NOT NULL,
  tool TEXT NOT NULL,
  same_digest TEXT NOT NULL,
  state_digest TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (session, tool, same_digest)
) STRICT;

CREATE TABLE IF NOT EXISTS sessions (
  id TEXT PRIMARY KEY,
  surface TEXT NOT NULL,
  client TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  peer TEXT
) STRICT;

-- Who was refused a path, so that a person who lets one session through is shown the right one first.
CREATE TABLE IF NOT EXISTS refusals (
  session TEXT NOT NULL,
  path TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (session, path)
) STRICT;
CREATE INDEX IF NOT EXISTS refusals_by_path ON refusals (path, at);

CREATE TABLE IF NOT EXISTS notes (
  session TEXT NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS grants (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  session TEXT NOT NULL,
  path TEXT NOT NULL,
  given_by TEXT NOT NULL,
  given_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  scope TEXT,
  reasons TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS grants_by_session ON grants (session, kind, path);

-- Logins that were saved on request, sealed under the key of the project.
CREATE TABLE IF NOT EXISTS logins (
  id TEXT PRIMARY KEY,
  site TEXT NOT NULL,
  sealed TEXT NOT NULL,
  owners TEXT NOT NULL,
  saved_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL
) STRICT;

-- What programs did that nobody was asked about, by half hours since 1970.
CREATE TABLE IF NOT EXISTS unasked (
  period INTEGER PRIMARY KEY,
  removals INTEGER NOT NULL,
  files INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS repairs (
  session TEXT NOT NULL,
  path TEXT NOT NULL,
  failed INTEGER NOT NULL,
  rounds INTEGER NOT NULL,
  PRIMARY KEY (session, path)
) STRICT;

${runsSchema}
-- What was said over the HTTP gateway. A turn is added whole, when it has ended.
CREATE TABLE IF NOT EXISTS chats (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  session_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  channel TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (session_id, user_id, channel)
) STRICT;
CREATE INDEX IF NOT EXISTS chats_by_time ON chats (updated_at);
CREATE TABLE IF NOT EXISTS chat_messages (
  seq INTEGER PRIMARY KEY,
  chat TEXT NOT NULL,
  role TEXT NOT NULL,
  type TEXT NOT NULL,
  text TEXT NOT NULL,
  metadata TEXT,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS chat_messages_by_chat ON chat_messages (chat, seq);

-- Tools of mounted MCP servers: what was accepted, and what the server says now where that is something else ('null': nothing any more).
CREATE TABLE IF NOT EXISTS mounted_tools (
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  accepted TEXT,
  found TEXT,
  wrong TEXT,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (server, tool)
) STRICT;
-- Conversations with the agent. A row is written whole after each step.
CREATE TABLE IF NOT EXISTS agent_sessions (
  session TEXT PRIMARY KEY,
  goal TEXT NOT NULL,
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS agent_sessions_by_time ON agent_sessions (updated_at);
-- Which of them a process has in hand: two would make each call twice.
CREATE TABLE IF NOT EXISTS agent_turns (
  session TEXT PRIMARY KEY,
  holder TEXT NOT NULL
) STRICT;

-- Plans, whole as JSON, and the run that each was last carried out as.
CREATE TABLE IF NOT EXISTS plans (
  id TEXT PRIMARY KEY,
  body TEXT NOT NULL,
  run TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS plans_by_time ON plans (updated_at);

CREATE TABLE IF NOT EXISTS questions (
  id TEXT PRIMARY KEY, session TEXT NOT NULL, client TEXT NOT NULL, text TEXT NOT NULL, options TEXT NOT NULL, asked_at INTEGER NOT NULL,
  answer TEXT, answered_by TEXT, answered_at INTEGER, told INTEGER NOT NULL DEFAULT 0
) STRICT;
`
