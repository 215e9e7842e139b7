/** Raised with each change of tables or functions; an older Handrail leaves a newer schema alone. */
export const clusterVersion = 5

/**
 * The tables of runs on PostgreSQL. They are those of the embedded store (`../schema.ts`) with who may carry a run out beside it; counts are
 * not kept but counted, since a counter that all change is a lock that all wait for.
 * Brought up under a lock, in one transaction; every statement may meet what is there already.
 */
export const clusterTables = `
CREATE SCHEMA IF NOT EXISTS handrail;

CREATE TABLE IF NOT EXISTS handrail.meta (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL);

CREATE TABLE IF NOT EXISTS handrail.runs (
  seq bigserial PRIMARY KEY,
  id text NOT NULL UNIQUE,
  space text NOT NULL,
  template text NOT NULL,
  version text NOT NULL,
  status text NOT NULL,
  idem_key text,
  origin text NOT NULL,
  session_id text,
  mode text NOT NULL,
  timeout_ms bigint NOT NULL,
  submitter text NOT NULL,
  authority text NOT NULL,
  owner text NOT NULL,
  deaths integer NOT NULL,
  done_steps integer NOT NULL,
  total_steps integer NOT NULL,
  active_ms bigint NOT NULL,
  waiting text,
  error text,
  artifacts text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ttl_ms bigint NOT NULL,
  expires_at bigint,
  holder text NOT NULL,
  bytes bigint NOT NULL,
  -- Who may carry it out: 'any' worker, those of one place ('@…'), or one process ('=…').
  queue text NOT NULL
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX IF NOT EXISTS runs_by_key ON handrail.runs (space, template, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_newest ON handrail.runs (space, created_at DESC, seq DESC);
CREATE INDEX IF NOT EXISTS runs_by_template ON handrail.runs (space, template, created_at DESC, seq DESC);
CREATE INDEX IF NOT EXISTS runs_in_line ON handrail.runs (space, holder, seq) WHERE status = 'queued';
CREATE INDEX IF NOT EXISTS runs_under_way ON handrail.runs (space, seq) WHERE status = 'running';
CREATE INDEX IF NOT EXISTS runs_expiring ON handrail.runs (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS handrail.run_bodies (
  run text PRIMARY KEY REFERENCES handrail.runs (id) ON DELETE CASCADE,
  template text NOT NULL,
  inputs text NOT NULL,
  -- Sealed by the machine it was handed in on, which alone can open them; gone with the end of the run.
  secrets text,
  -- By whom it was handed in: only that machine can make it, and it does nothing but visit pages for others.
  mac text NOT NULL,
  result text
);
ALTER TABLE handrail.run_bodies ADD COLUMN IF NOT EXISTS output_schema text;

CREATE TABLE IF NOT EXISTS handrail.run_steps (
  run text NOT NULL REFERENCES handrail.runs (id) ON DELETE CASCADE,
  step text NOT NULL,
  item integer NOT NULL,
  state text NOT NULL,
  call text,
  output text,
  error text,
  at bigint NOT NULL,
  artifacts text,
  PRIMARY KEY (run, step, item)
);
-- By the machine that did it; see run_bodies.
ALTER TABLE handrail.run_steps ADD COLUMN IF NOT EXISTS mac text NOT NULL DEFAULT '';

CREATE TABLE IF NOT EXISTS handrail.run_events (
  id bigserial PRIMARY KEY,
  run text NOT NULL REFERENCES handrail.runs (id) ON DELETE CASCADE,
  event text NOT NULL,
  at bigint NOT NULL,
  details text NOT NULL
);
CREATE INDEX IF NOT EXISTS run_events_of ON handrail.run_events (run, id);

-- Whoever has runs in the queue, and whose turn it is: the lowest.
CREATE TABLE IF NOT EXISTS handrail.run_turns (
  space text NOT NULL,
  holder text NOT NULL,
  turn bigint NOT NULL,
  PRIMARY KEY (space, holder)
);
CREATE INDEX IF NOT EXISTS run_turns_next ON handrail.run_turns (space, turn);

CREATE TABLE IF NOT EXISTS handrail.artifacts (
  id text PRIMARY KEY,
  space text NOT NULL,
  run text NOT NULL,
  mime_type text NOT NULL,
  bytes bigint NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  state text NOT NULL
);
CREATE INDEX IF NOT EXISTS artifacts_by_run ON handrail.artifacts (run);
CREATE INDEX IF NOT EXISTS artifacts_by_time ON handrail.artifacts (space, state, expires_at);

-- Contents, in pieces as they are read. Not compressed: pictures are already, and a piece is read whole.
CREATE TABLE IF NOT EXISTS handrail.artifact_chunks (
  artifact text NOT NULL,
  n integer NOT NULL,
  space text NOT NULL,
  at bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (artifact, n)
);
ALTER TABLE handrail.artifact_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS artifact_chunks_by_time ON handrail.artifact_chunks (space, at) WHERE n = 0;

CREATE TABLE IF NOT EXISTS handrail.workers (
  name text PRIMARY KEY,
  space text NOT NULL,
  place text NOT NULL,
  authority text NOT NULL,
  kind text NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  version text NOT NULL,
  slots integer NOT NULL,
  templates text[],
  draining boolean NOT NULL,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  lease_until bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS workers_of ON handrail.workers (space);

-- Browser sessions that are kept between runs, and the process that holds each.
CREATE TABLE IF NOT EXISTS handrail.kept_sessions (
  session text PRIMARY KEY,
  creator text NOT NULL,
  worker text NOT NULL REFERENCES handrail.workers (name) ON DELETE CASCADE
);
`
