/** Counts the changes of the schema below; each one is additive: new tables, new indexes, new columns that may be null. */
export const schemaVersion = 16

/** The whole store in one place. */
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

-- Runs: what lists read is one small row each. seq is the order in which they were accepted.
CREATE TABLE IF NOT EXISTS runs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  template TEXT NOT NULL,
  version TEXT NOT NULL,
  status TEXT NOT NULL,
  idem_key TEXT,
  origin TEXT NOT NULL,
  session_id TEXT,
  mode TEXT NOT NULL,
  timeout_ms INTEGER NOT NULL,
  submitter TEXT NOT NULL,
  authority TEXT NOT NULL,
  owner TEXT NOT NULL,
  deaths INTEGER NOT NULL,
  done_steps INTEGER NOT NULL,
  total_steps INTEGER NOT NULL,
  active_ms INTEGER NOT NULL,
  waiting TEXT,
  error TEXT,
  artifacts TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ttl_ms INTEGER NOT NULL,
  expires_at INTEGER,
  holder TEXT,
  bytes INTEGER
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS runs_by_key ON runs (template, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_newest ON runs (created_at DESC, seq DESC);
CREATE INDEX IF NOT EXISTS runs_by_status ON runs (status, created_at DESC, seq DESC);
CREATE INDEX IF NOT EXISTS runs_by_template ON runs (template, created_at DESC, seq DESC);
CREATE INDEX IF NOT EXISTS runs_by_both ON runs (template, status, created_at DESC, seq DESC);
CREATE INDEX IF NOT EXISTS runs_under_way ON runs (status, seq) WHERE status IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS runs_expiring ON runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_in_line ON runs (holder, seq) WHERE status = 'queued';

CREATE TABLE IF NOT EXISTS run_bodies (
  run TEXT PRIMARY KEY,
  template TEXT NOT NULL,
  inputs TEXT NOT NULL,
  result TEXT,
  output_schema TEXT
) STRICT;

-- How many runs of each kind there are, kept with every change: however many, a list says how many fit without counting them.
CREATE TABLE IF NOT EXISTS run_counts (
  template TEXT NOT NULL,
  status TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (template, status)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS runs_counted AFTER INSERT ON runs BEGIN
  INSERT INTO run_counts (template, status, n) VALUES (new.template, new.status, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER IF NOT EXISTS runs_moved AFTER UPDATE OF status ON runs WHEN old.status != new.status BEGIN
  UPDATE run_counts SET n = n - 1 WHERE template = old.template AND status = old.status;
  INSERT INTO run_counts (template, status, n) VALUES (new.template, new.status, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER IF NOT EXISTS runs_gone AFTER DELETE ON runs BEGIN
  UPDATE run_counts SET n = n - 1 WHERE template = old.template AND status = old.status;
  DELETE FROM run_counts WHERE template = old.template AND n = 0;
END;

-- Whoever has runs in the queue, how many, and whose turn it is: the lowest. One who comes anew stands where the one served last does.
CREATE TABLE IF NOT EXISTS run_turns (
  holder TEXT PRIMARY KEY,
  queued INTEGER NOT NULL,
  turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_turns_next ON run_turns (turn);
CREATE TRIGGER IF NOT EXISTS runs_lined_up AFTER INSERT ON runs WHEN new.holder IS NOT NULL BEGIN
  INSERT INTO run_turns (holder, queued, turn) VALUES (new.holder, 1, (SELECT coalesce(max(turn), 0) FROM run_turns))
    ON CONFLICT DO UPDATE SET queued = queued + 1;
END;
CREATE TRIGGER IF NOT EXISTS runs_served AFTER UPDATE OF status ON runs WHEN old.status = 'queued' AND new.status != 'queued' BEGIN
  UPDATE run_turns SET queued = queued - 1 WHERE holder = old.holder;
  DELETE FROM run_turns WHERE holder = old.holder AND queued = 0;
END;

-- What all runs take together: what they were handed in with, their journals and results.
CREATE TABLE IF NOT EXISTS run_bytes (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  n INTEGER NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS runs_came AFTER INSERT ON runs WHEN new.bytes IS NOT NULL BEGIN
  INSERT INTO run_bytes (one, n) VALUES (1, new.bytes) ON CONFLICT DO UPDATE SET n = n + new.bytes;
END;
CREATE TRIGGER IF NOT EXISTS runs_grew AFTER UPDATE OF bytes ON runs WHEN new.bytes > old.bytes BEGIN
  UPDATE run_bytes SET n = n + new.bytes - old.bytes;
END;
CREATE TRIGGER IF NOT EXISTS runs_went AFTER DELETE ON runs WHEN old.bytes IS NOT NULL BEGIN
  UPDATE run_bytes SET n = n - old.bytes;
END;

-- Runs of another kind: programs that keep running, each with the process that supervises it.
CREATE TABLE IF NOT EXISTS server_runs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  command TEXT NOT NULL,
  call TEXT NOT NULL,
  session TEXT NOT NULL,
  status TEXT NOT NULL,
  owner TEXT NOT NULL,
  urls TEXT NOT NULL,
  error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  log TEXT NOT NULL
) STRICT;

-- The journal of a run's steps, and of the items of a batch; item is -1 for a step that is one call.
CREATE TABLE IF NOT EXISTS run_steps (
  run TEXT NOT NULL,
  step TEXT NOT NULL,
  item INTEGER NOT NULL,
  state TEXT NOT NULL,
  call TEXT,
  output TEXT,
  error TEXT,
  at INTEGER NOT NULL,
  artifacts TEXT,
  PRIMARY KEY (run, step, item)
) STRICT, WITHOUT ROWID;

-- An artifact that is past its time stays as a row without content, so that it is known from one that never was.
CREATE TABLE IF NOT EXISTS artifacts (
  id TEXT PRIMARY KEY,
  run TEXT NOT NULL,
  mime_type TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS artifacts_by_run ON artifacts (run);
DROP INDEX IF EXISTS artifacts_expiring;
CREATE INDEX IF NOT EXISTS artifacts_by_time ON artifacts (state, expires_at, bytes);

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
