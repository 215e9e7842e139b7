/** Runs, their turns and steps, and what they left; part of `schema`, whose version counts for both. */
export const runsSchema = `
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
`
