-- The tables and functions of version 1 as its first programs made them; {schema} stands for the schema.
-- Its last programs made a column of decisions in the table of calls, and made no index on the status of calls.
CREATE SCHEMA {schema};
CREATE TABLE {schema}.schema_version (version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now());
INSERT INTO {schema}.schema_version (version) VALUES (1);

CREATE TABLE {schema}.conversations (
    conversation_id text PRIMARY KEY,
    revision uuid NOT NULL DEFAULT gen_random_uuid(),  -- new when a row was deleted or changed
    last bigint NOT NULL DEFAULT 0,                    -- the number of the last row
    latest double precision NOT NULL DEFAULT '-Infinity',
    lease_number bigint NOT NULL DEFAULT 0,
    lease_owner text,
    lease_expires_at timestamptz,
    lease_writer text,
    lease_worker text,
    lease_machine text
) WITH (fillfactor = 70);  -- a head is updated by every append, mostly in its own page
CREATE TABLE {schema}.messages (
    conversation_id text NOT NULL,
    number bigint NOT NULL,
    message_id text NOT NULL,
    user_id text NOT NULL,
    type text NOT NULL,
    content text NOT NULL,
    timestamp double precision NOT NULL,
    PRIMARY KEY (conversation_id, number)
);
CREATE INDEX messages_of_user ON {schema}.messages (user_id, conversation_id);
CREATE INDEX messages_by_user ON {schema}.messages (user_id, timestamp) WHERE type = 'user';
CREATE TABLE {schema}.calls (
    conversation_id text NOT NULL,
    batch text NOT NULL,
    position integer NOT NULL,
    user_id text NOT NULL,
    message_id text,
    call_id text NOT NULL,
    name text NOT NULL,
    server text,
    status text NOT NULL,
    attempt integer NOT NULL,
    started_at double precision,
    completed_at double precision,
    worker text,
    PRIMARY KEY (conversation_id, batch, position)
) WITH (fillfactor = 80);
CREATE INDEX calls_in_doubt ON {schema}.calls (status) WHERE status IN ('open', 'unknown');
CREATE TABLE {schema}.events (
    event_id text PRIMARY KEY,
    conversation_id text NOT NULL,
    type text NOT NULL,
    content text NOT NULL,
    timestamp double precision NOT NULL
);
CREATE INDEX events_of_conversation ON {schema}.events (conversation_id, type, timestamp);
CREATE TABLE {schema}.profiles (
    user_id text NOT NULL,
    version integer NOT NULL,
    data text NOT NULL,
    created_at double precision NOT NULL,
    char_count integer NOT NULL,
    PRIMARY KEY (user_id, version)
);
-- The last append of each program, so that an append whose answer was lost is not done twice.
CREATE TABLE {schema}.writers (
    writer text PRIMARY KEY,
    sequence bigint NOT NULL,
    used_at timestamptz NOT NULL
) WITH (fillfactor = 10);

CREATE FUNCTION {schema}.revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {schema}.conversations SET revision = gen_random_uuid()
    WHERE conversation_id IN (SELECT conversation_id FROM gone);
    RETURN NULL;
END $$;
CREATE TRIGGER messages_deleted AFTER DELETE ON {schema}.messages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION {schema}.revise();
CREATE TRIGGER messages_changed AFTER UPDATE ON {schema}.messages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION {schema}.revise();

CREATE FUNCTION {schema}.append(
    by_writer text, with_sequence bigint,
    h_id text[], h_count bigint[], h_latest double precision[], h_owner text[],
    m_head integer[], m_place bigint[], m_id text[], m_message text[], m_user text[], m_type text[],
    m_content text[], m_timestamp double precision[],
    c_id text[], c_batch text[], c_position integer[], c_user text[], c_message text[], c_call text[], c_name text[],
    c_server text[], c_status text[], c_attempt integer[], c_started double precision[],
    c_completed double precision[], c_worker text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    lasts bigint[];
    owners text[];
    workers text[];
    lost record;
BEGIN
    INSERT INTO {schema}.writers AS w VALUES (by_writer, with_sequence, clock_timestamp())
    ON CONFLICT (writer) DO UPDATE SET sequence = excluded.sequence, used_at = excluded.used_at
    WHERE w.sequence < excluded.sequence;
    IF NOT FOUND THEN
        RETURN false;  -- an earlier try, whose answer was lost, did it
    END IF;

    WITH heads AS (
        INSERT INTO {schema}.conversations AS c (conversation_id, last, latest)
        SELECT id, count, latest FROM unnest(h_id, h_count, h_latest) AS h(id, count, latest)
        ON CONFLICT (conversation_id) DO UPDATE
        SET last = c.last + excluded.last, latest = greatest(c.latest, excluded.latest)
        RETURNING c.conversation_id COLLATE "C" AS id, c.last, c.lease_owner, c.lease_worker
    )
    SELECT array_agg(last ORDER BY id), array_agg(lease_owner ORDER BY id), array_agg(lease_worker ORDER BY id)
    INTO lasts, owners, workers FROM heads;

    SELECT h.id, CASE WHEN h.owner IS NOT NULL THEN h.worker END AS worker INTO lost
    FROM unnest(h_id, h_owner, owners, workers) AS h(id, wanted, owner, worker)
    WHERE h.wanted IS NOT NULL AND h.owner IS DISTINCT FROM h.wanted LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'CGL01', MESSAGE = lost.id, DETAIL = coalesce(lost.worker, '');
    END IF;

    INSERT INTO {schema}.messages (conversation_id, number, message_id, user_id, type, content, timestamp)
    SELECT m.id, lasts[m.head] - h_count[m.head] + m.place, m.message, m.user_id, m.type, m.content, m.timestamp
    FROM unnest(m_head, m_place, m_id, m_message, m_user, m_type, m_content, m_timestamp)
        AS m(head, place, id, message, user_id, type, content, timestamp);

    INSERT INTO {schema}.calls AS c (
        conversation_id, batch, position, user_id, message_id, call_id, name, server, status, attempt, started_at,
        completed_at, worker
    )
    SELECT * FROM unnest(
        c_id, c_batch, c_position, c_user, c_message, c_call, c_name, c_server, c_status, c_attempt, c_started,
        c_completed, c_worker
    )
    ON CONFLICT (conversation_id, batch, position) DO UPDATE
    SET status = excluded.status, attempt = excluded.attempt, started_at = excluded.started_at,
        completed_at = excluded.completed_at, worker = excluded.worker;  -- the row of a call is known, and stays
    RETURN true;
END $$;

CREATE FUNCTION {schema}.forget(id text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    count bigint;
BEGIN
    PERFORM 1 FROM {schema}.conversations WHERE conversation_id = id FOR UPDATE;  -- appends to it wait from here on
    DELETE FROM {schema}.events WHERE conversation_id = id;
    DELETE FROM {schema}.calls WHERE conversation_id = id;
    DELETE FROM {schema}.messages WHERE conversation_id = id;
    GET DIAGNOSTICS count = ROW_COUNT;
    DELETE FROM {schema}.conversations WHERE conversation_id = id;
    RETURN count;
END $$;

INSERT INTO {schema}.conversations (conversation_id, last, latest, lease_number, lease_owner, lease_expires_at)
VALUES ('old', 3, 3.0, 7, 'somebody', now() - interval '1 hour');
INSERT INTO {schema}.messages (conversation_id, number, message_id, user_id, type, content, timestamp) VALUES
    ('old', 1, 'm1', 'u', 'user', 'hello', 1.0),
    ('old', 2, 'm2', 'u', 'call', '{"name": "pay", "args": {}}', 2.0),
    ('old', 3, 'm3', 'u', 'call', '{"name": "look", "args": {}}', 3.0);
INSERT INTO {schema}.calls (
    conversation_id, batch, position, user_id, message_id, call_id, name, status, attempt, worker
) VALUES
    ('old', 'b', 0, 'u', 'm2', 'c1', 'pay', 'open', 0, 'far:1'),
    ('old', 'b', 1, 'u', 'm3', 'c2', 'look', 'open', 0, 'far:1');
INSERT INTO {schema}.events VALUES ('e1', 'old', 'metric', '{}', 1.0);
INSERT INTO {schema}.profiles VALUES ('u', 1, '{"who": "Ada"}', 1.0, 14);
INSERT INTO {schema}.writers VALUES ('an old program', 5, now());
