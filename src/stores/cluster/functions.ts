import { aloneAfter } from '../../contracts/run-ports.ts'

/** What is done with the tables of runs (`schema.ts`) in one step; brought up with them. */
export const clusterFunctions = `
-- One clock for all machines: theirs differ.
CREATE OR REPLACE FUNCTION handrail.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE OR REPLACE FUNCTION handrail.alive(who text) RETURNS boolean LANGUAGE sql VOLATILE AS
  $$ SELECT who <> '' AND EXISTS (SELECT 1 FROM handrail.workers WHERE name = who AND lease_until > handrail.now_ms()) $$;

-- A worker that could take a run in hand, other than whoever asks.
CREATE OR REPLACE FUNCTION handrail.served(r handrail.runs, me text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (SELECT 1 FROM handrail.workers w WHERE w.space = r.space AND w.name <> me AND w.kind = 'worker' AND NOT w.draining
    AND w.lease_until > handrail.now_ms() AND w.authority = r.authority
    AND r.queue IN ('any', '@' || w.place, '=' || w.name) AND (w.templates IS NULL OR r.template = ANY (w.templates)))
$$;

DROP FUNCTION IF EXISTS handrail.accept;
CREATE FUNCTION handrail.accept(
  sp text, rid text, tid text, ver text, k text, org text, sess text, md text, tmo bigint, sub text, auth text, done integer, total integer,
  ttl bigint, hold text, size bigint, q text, tpl text, inp text, sec text, shape text, sign text, counts boolean, most bigint, most_each bigint, most_bytes bigint
) RETURNS TABLE (outcome text, n bigint, run handrail.runs) LANGUAGE plpgsql AS $$
DECLARE
  now_at bigint := handrail.now_ms();
  found_run handrail.runs;
  all_of bigint;
  mine bigint;
  taken bigint;
  is_first boolean := false;
BEGIN
  -- Asked again, because the answer was lost on its way.
  SELECT * INTO found_run FROM handrail.runs WHERE id = rid;
  IF FOUND THEN
    RETURN QUERY SELECT 'new'::text, 0::bigint, found_run;
    RETURN;
  END IF;
  IF k IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(sp || chr(1) || tid || chr(1) || k, 7));
    DELETE FROM handrail.runs WHERE space = sp AND template = tid AND idem_key = k AND expires_at <= now_at;
    SELECT * INTO found_run FROM handrail.runs WHERE space = sp AND template = tid AND idem_key = k;
    IF FOUND THEN
      RETURN QUERY SELECT 'same'::text, 0::bigint, found_run;
      RETURN;
    END IF;
  END IF;
  IF counts THEN
    SELECT count(*), count(*) FILTER (WHERE holder = hold), coalesce(sum(bytes), 0) INTO all_of, mine, taken
      FROM handrail.runs WHERE space = sp AND status = 'queued';
    IF mine >= most_each THEN
      RETURN QUERY SELECT 'yours'::text, mine, NULL::handrail.runs;
      RETURN;
    ELSIF all_of >= most THEN
      RETURN QUERY SELECT 'full'::text, all_of, NULL::handrail.runs;
      RETURN;
    ELSIF taken > most_bytes THEN
      RETURN QUERY SELECT 'bytes'::text, taken, NULL::handrail.runs;
      RETURN;
    END IF;
  END IF;
  -- Held so that nobody takes the row away for want of runs; shared, so that those of one holder do not wait for each other.
  LOOP
    PERFORM 1 FROM handrail.run_turns WHERE space = sp AND holder = hold FOR KEY SHARE;
    EXIT WHEN FOUND;
    is_first := true;
    INSERT INTO handrail.run_turns (space, holder, turn)
      SELECT sp, hold, coalesce(max(turn), 0) FROM handrail.run_turns WHERE space = sp ON CONFLICT DO NOTHING;
  END LOOP;
  INSERT INTO handrail.runs (id, space, template, version, status, idem_key, origin, session_id, mode, timeout_ms, submitter, authority, owner,
      deaths, done_steps, total_steps, active_ms, artifacts, created_at, updated_at, ttl_ms, holder, bytes, queue)
    VALUES (rid, sp, tid, ver, 'queued', k, org, sess, md, tmo, sub, auth, '', 0, done, total, 0, '[]', now_at, now_at, ttl, hold, size, q)
    RETURNING * INTO found_run;
  INSERT INTO handrail.run_bodies (run, template, inputs, secrets, output_schema, mac) VALUES (rid, tpl, inp, sec, shape, sign);
  -- Others of this holder wait before it, and somebody was told of them.
  RETURN QUERY SELECT CASE WHEN is_first THEN 'new' ELSE 'behind' END, coalesce(mine, 0), found_run;
END $$;

-- With what it was handed in with, and whether nothing was done of it yet; so many at most. What a dead worker left is looked for where that is
-- asked for, and comes first.
DROP FUNCTION IF EXISTS handrail.claim;
CREATE FUNCTION handrail.claim(sp text, me text, auth text, queues text[], slots integer, most integer, takes text[], looks boolean)
RETURNS TABLE (fresh boolean, template_text text, inputs_text text, secrets_text text, schema_text text, mac_text text, run handrail.runs) LANGUAGE plpgsql AS $$
DECLARE
  r handrail.runs;
  t record;
  late integer;
  is_fresh boolean;
  is_alone boolean;
  is_due boolean;
  busy integer;
  bound_busy integer;
  allowed text[] := queues;
  now_at bigint := handrail.now_ms();
BEGIN
  -- What is lost of it in a crash is a run in the queue, as before; whoever has it writes nothing more.
  PERFORM set_config('synchronous_commit', 'off', true);
  IF NOT handrail.alive(me) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(sp || chr(1) || 'claim', 7));
  -- What is bound to a place: so many by all its processes together, as on one machine.
  SELECT count(*) FILTER (WHERE x.owner = me), coalesce(bool_or(x.owner = me AND x.deaths >= ${aloneAfter}), false),
      coalesce(bool_or(x.owner <> me AND x.deaths >= ${aloneAfter - 1}), false), count(*) FILTER (WHERE x.queue <> 'any' AND x.owner IN (SELECT w.name FROM handrail.workers w
      WHERE w.space = sp AND w.lease_until > now_at AND w.place = (SELECT m.place FROM handrail.workers m WHERE m.name = me)))
    INTO busy, is_alone, is_due, bound_busy FROM handrail.runs x WHERE x.space = sp AND x.status = 'running' AND x.waiting IS NULL;
  -- One that must be alone is not passed over for the queue.
  looks := looks OR is_due;
  FOR n IN 1..most LOOP
    EXIT WHEN is_alone;
    r := NULL;
    late := 0;
    is_fresh := false;
    IF looks THEN
      SELECT * INTO r FROM handrail.runs x WHERE space = sp AND status = 'running' AND owner <> me AND queue = ANY (queues)
        AND (submitter = me OR authority = auth) AND (takes IS NULL OR template = ANY (takes))
        AND owner NOT IN (SELECT name FROM handrail.workers w WHERE w.space = sp AND w.lease_until > now_at)
        AND (auth <> '' OR NOT handrail.served(x, me))
        ORDER BY waiting IS NULL AND deaths + (owner <> '')::integer >= ${aloneAfter}, seq LIMIT 1 FOR UPDATE SKIP LOCKED;
      looks := FOUND;
    END IF;
    IF r.id IS NOT NULL THEN
      late := CASE WHEN r.owner = '' OR r.waiting IS NOT NULL THEN 0 ELSE 1 END;
      is_alone := r.waiting IS NULL AND r.deaths + late >= ${aloneAfter};
      EXIT WHEN is_alone AND busy > 0;
    ELSE
      EXIT WHEN busy >= slots;
      IF bound_busy >= slots THEN allowed := CASE WHEN 'any' = ANY (queues) THEN ARRAY['any'] ELSE ARRAY[]::text[] END; END IF;
      FOR t IN SELECT holder FROM handrail.run_turns WHERE space = sp ORDER BY turn LOOP
        SELECT * INTO r FROM handrail.runs x WHERE space = sp AND holder = t.holder AND status = 'queued' AND queue = ANY (allowed)
          AND (submitter = me OR authority = auth) AND (takes IS NULL OR template = ANY (takes))
          AND (auth <> '' OR NOT handrail.served(x, me))
          ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED;
        EXIT WHEN FOUND;
      END LOOP;
      EXIT WHEN r.id IS NULL;
      is_fresh := r.done_steps = 0;
      -- Behind all the others, where there are any.
      UPDATE handrail.run_turns u SET turn = last.turn + 1
        FROM (SELECT max(turn) AS turn FROM handrail.run_turns WHERE space = sp AND holder <> r.holder) AS last
        WHERE u.space = sp AND u.holder = r.holder AND u.turn <= last.turn;
    END IF;
    IF r.waiting IS NULL THEN
      busy := busy + 1;
      IF r.queue <> 'any' THEN bound_busy := bound_busy + 1; END IF;
    END IF;
    UPDATE handrail.runs SET status = 'running', owner = me, deaths = deaths + late, updated_at = greatest(now_at, created_at)
      WHERE id = r.id RETURNING * INTO r;
    -- Looked at once more with the row in hand: a run handed in between the two looks would be left without a turn.
    IF NOT EXISTS (SELECT 1 FROM handrail.runs WHERE space = sp AND holder = r.holder AND status = 'queued') THEN
      PERFORM 1 FROM handrail.run_turns WHERE space = sp AND holder = r.holder FOR UPDATE SKIP LOCKED;
      IF FOUND THEN
        DELETE FROM handrail.run_turns WHERE space = sp AND holder = r.holder
          AND NOT EXISTS (SELECT 1 FROM handrail.runs WHERE space = sp AND holder = r.holder AND status = 'queued');
      END IF;
    END IF;
    RETURN QUERY SELECT is_fresh, b.template, b.inputs, b.secrets, b.output_schema, b.mac, r FROM handrail.run_bodies b WHERE b.run = r.id;
  END LOOP;
END $$;

DROP FUNCTION IF EXISTS handrail.journal;
CREATE FUNCTION handrail.journal(rid text, me text, st text, it integer, state_now text, call_id text, out_text text, err text, arts text,
  done integer, total integer, active bigint, size bigint, sign text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  now_at bigint := handrail.now_ms();
BEGIN
  -- What may not be done twice is known to have begun, whatever happens to the machine.
  IF state_now <> 'begun' THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  UPDATE handrail.runs SET done_steps = done, total_steps = total, active_ms = active,
      deaths = CASE WHEN state_now = 'begun' THEN deaths ELSE 0 END, updated_at = greatest(now_at, created_at), bytes = bytes + size
    WHERE id = rid AND owner = me AND status = 'running';
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO handrail.run_steps (run, step, item, state, call, output, error, at, artifacts, mac)
    VALUES (rid, st, it, state_now, call_id, out_text, err, now_at, arts, sign)
    ON CONFLICT (run, step, item) DO UPDATE SET state = excluded.state, call = excluded.call, output = excluded.output,
      error = excluded.error, at = excluded.at, artifacts = excluded.artifacts, mac = excluded.mac;
  RETURN true;
END $$;

DROP FUNCTION IF EXISTS handrail.end_run;
CREATE FUNCTION handrail.end_run(rid text, st text, err text, active bigint, arts text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  now_at bigint := handrail.now_ms();
BEGIN
  UPDATE handrail.runs SET status = st, error = err, owner = '', waiting = NULL, active_ms = greatest(active_ms, active), artifacts = arts,
    updated_at = greatest(now_at, created_at), expires_at = now_at + ttl_ms WHERE id = rid;
  UPDATE handrail.run_bodies SET secrets = NULL WHERE run = rid AND secrets IS NOT NULL;
END $$;

-- A run that goes on where another one was names what that left too: it stays for the later of the two, and what has expired stays expired.
DROP FUNCTION IF EXISTS handrail.keep_artifacts;
CREATE FUNCTION handrail.keep_artifacts(rid text, sp text, art_ids text[], art_types text[], art_bytes bigint[], art_ttl bigint) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO handrail.artifacts AS old (id, space, run, mime_type, bytes, created_at, expires_at, state)
    SELECT a.id, sp, rid, a.mime, a.size, handrail.now_ms(), handrail.now_ms() + art_ttl, 'kept'
      FROM unnest(art_ids, art_types, art_bytes) AS a (id, mime, size)
    ON CONFLICT (id) DO UPDATE SET expires_at = greatest(old.expires_at, excluded.expires_at) WHERE old.state = 'kept';
$$;

-- Ends a run from outside: what its steps left is kept as if it had ended by itself.
DROP FUNCTION IF EXISTS handrail.end_from_outside;
CREATE FUNCTION handrail.end_from_outside(rid text, sp text, st text, err text, active bigint, art_ttl bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  ids text[];
  types text[];
  sizes bigint[];
BEGIN
  SELECT coalesce(array_agg(a->>'id' ORDER BY s.step COLLATE "C", s.item), '{}'),
      coalesce(array_agg(a->>'mimeType' ORDER BY s.step COLLATE "C", s.item), '{}'),
      coalesce(array_agg((a->>'bytes')::bigint ORDER BY s.step COLLATE "C", s.item), '{}') INTO ids, types, sizes
    FROM handrail.run_steps s, jsonb_array_elements(s.artifacts::jsonb) AS a WHERE s.run = rid AND s.artifacts IS NOT NULL;
  PERFORM handrail.keep_artifacts(rid, sp, ids, types, sizes, art_ttl);
  PERFORM handrail.end_run(rid, st, err, active, to_json(ids)::text);
END $$;

DROP FUNCTION IF EXISTS handrail.finish;
CREATE FUNCTION handrail.finish(rid text, me text, st text, err text, active bigint, result_text text, made text, art_ttl bigint, arts text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r handrail.runs;
  now_at bigint := handrail.now_ms();
BEGIN
  UPDATE handrail.runs SET status = st, error = err, owner = '', waiting = NULL, active_ms = greatest(active_ms, active), artifacts = arts,
      updated_at = greatest(now_at, created_at), expires_at = now_at + ttl_ms
    WHERE id = rid AND owner = me AND status = 'running' RETURNING * INTO r;
  IF NOT FOUND THEN
    -- Asked again, because the answer was lost: these very artifacts are this end's and no other's.
    RETURN arts <> '[]' AND EXISTS (SELECT 1 FROM handrail.runs WHERE id = rid AND artifacts = arts AND status = st);
  END IF;
  IF arts <> '[]' THEN
    PERFORM handrail.keep_artifacts(rid, r.space, array_agg(a.id), array_agg(a."mimeType"), array_agg(a.bytes), art_ttl)
      FROM json_to_recordset(made::json) AS a (id text, "mimeType" text, bytes bigint);
  END IF;
  UPDATE handrail.run_bodies SET result = coalesce(result_text, result), secrets = NULL
    WHERE run = rid AND (result_text IS NOT NULL OR secrets IS NOT NULL);
  RETURN true;
END $$;

DROP FUNCTION IF EXISTS handrail.cancel;
CREATE FUNCTION handrail.cancel(sp text, rid text, err text, art_ttl bigint) RETURNS TABLE (done boolean, run handrail.runs) LANGUAGE plpgsql AS $$
DECLARE
  r handrail.runs;
  now_at bigint := handrail.now_ms();
  since bigint := 0;
  is_open boolean;
BEGIN
  SELECT * INTO r FROM handrail.runs WHERE id = rid AND space = sp AND (expires_at IS NULL OR expires_at > now_at) FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  is_open := r.status IN ('queued', 'running');
  IF is_open THEN
    IF r.status = 'running' AND r.waiting IS NULL THEN since := greatest(0, now_at - r.updated_at); END IF;
    PERFORM handrail.end_from_outside(rid, sp, 'canceled', err, r.active_ms + since, art_ttl);
    SELECT * INTO r FROM handrail.runs WHERE id = rid;
  END IF;
  RETURN QUERY SELECT is_open, r;
END $$;

-- In the order of their ids for whoever reads them: each is given its id while nobody else is.
DROP FUNCTION IF EXISTS handrail.tell;
CREATE FUNCTION handrail.tell(mark text, place_mark text, runs_of text[], kinds text[], details_of text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(hashtextextended(mark || chr(1) || 'tell', 7));
  INSERT INTO handrail.run_events (run, event, at, details)
    SELECT e.run, e.event, handrail.now_ms(), e.details FROM unnest(runs_of, kinds, details_of) WITH ORDINALITY AS e (run, event, details, n)
    WHERE EXISTS (SELECT 1 FROM handrail.runs WHERE id = e.run) ORDER BY e.n;
  -- Many in one notice, which holds less than 8,000 bytes.
  PERFORM pg_notify('handrail_runs', string_agg(concat_ws(' ', mark, place_mark, e.run, e.event, substring(e.details FROM '"status":"([a-z_]+)"')), chr(10) ORDER BY e.n))
    FROM unnest(runs_of, kinds, details_of) WITH ORDINALITY AS e (run, event, details, n) GROUP BY e.n / 40;
END $$;

-- Says which of the runs that this worker holds are no longer its own, and how many it gave up; nothing where the worker itself is unknown by now.
DROP FUNCTION IF EXISTS handrail.renew;
CREATE FUNCTION handrail.renew(me text, lease bigint, live text[], stale bigint, slots_now integer, is_draining boolean)
RETURNS TABLE (lost text[], given_up integer) LANGUAGE plpgsql AS $$
DECLARE
  now_at bigint := handrail.now_ms();
  n integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE handrail.workers SET seen_at = now_at, lease_until = now_at + lease, slots = slots_now, draining = is_draining WHERE name = me;
  IF NOT FOUND THEN RETURN; END IF;
  -- What this worker was given and does not know of: the answer to its claim was lost, or it dropped the run when the database was away.
  UPDATE handrail.runs SET owner = '', deaths = deaths + 1
    WHERE status = 'running' AND owner = me AND id <> ALL (live) AND updated_at < now_at - stale;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN QUERY SELECT ARRAY(SELECT l FROM unnest(live) AS l
    WHERE NOT EXISTS (SELECT 1 FROM handrail.runs WHERE id = l AND owner = me AND status = 'running')), n;
END $$;
`
