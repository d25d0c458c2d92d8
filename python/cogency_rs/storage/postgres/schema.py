"""The tables of a PostgreSQL log, how they are made and brought to this version, and how changes of rows are noticed.

The head of a conversation is its row in `conversations`. An append updates the head first, so appends to one
conversation wait there for each other's commit. The head numbers the rows: 1, 2, 3 and so on, in the order of their
commits. So a reader that has seen a number never misses a smaller one. A row's number is its position. The lease of a
claim is in the head too: an append and the loss of its lease cannot happen at the same time.

An operation of several statements is a function in the database, so that no lock waits for a program.

Each version is a step from the one before. A released step is never changed: a change of the tables is a new step, and
so is a change of what a value in them means. Only the functions of the last version exist; upgrading replaces them.

The head also has a random *revision*. Triggers on the table of messages replace it when rows are deleted, changed,
truncated, or inserted by anything but `append` and a copy of a log; a revision is random and not counted, so that a
restored backup cannot have the same one by chance. A row that another program inserts also raises the number and the
time in the head, so that the next append comes after it. The triggers change the head in the transaction that changes
the rows, so a reader sees both or neither, whichever transaction commits first.

Invariant: between two moments with equal revisions of a conversation, rows were only added with larger numbers.

While `append` inserts, a setting of its transaction says that the rows are its own.

A trigger that is dropped or disabled sees nothing, and other rows may be there when it is back. So a cursor has the
state of the triggers too (`TRIGGERS`): any such change gives them another one.
"""

from __future__ import annotations

import hashlib

from ...calls.record import ENDS
from ...errors import StorageError
from ..rows import END_OF_TIME, STEP
from .connection import LOST_CLAIM, Address, PostgresConnection

APPENDS = "set_config('cogency_rs.appends', 'on', true)"
"""From here on to the end of a transaction, inserted rows are an append's own."""

# Heads are locked in the order in which `append` locks them, so that two programs never wait for each other.
WATCH = """
DROP TRIGGER IF EXISTS messages_inserted ON {schema}.messages;
DROP TRIGGER IF EXISTS messages_changed ON {schema}.messages;
DROP TRIGGER IF EXISTS messages_deleted ON {schema}.messages;
DROP TRIGGER IF EXISTS messages_truncated ON {schema}.messages;
DROP FUNCTION IF EXISTS {schema}.revise();
CREATE FUNCTION {schema}.revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        UPDATE {schema}.conversations SET revision = gen_random_uuid();
        DELETE FROM {schema}.parts;
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        DELETE FROM {schema}.parts AS parts USING gone
        WHERE parts.conversation_id = gone.conversation_id AND parts.message_id = gone.message_id;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        PERFORM 1 FROM {schema}.conversations WHERE conversation_id IN (SELECT conversation_id FROM gone)
        ORDER BY conversation_id COLLATE "C" FOR UPDATE;
        UPDATE {schema}.conversations SET revision = gen_random_uuid()
        WHERE conversation_id IN (SELECT conversation_id FROM gone);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO {schema}.conversations AS c (conversation_id, last, latest)
        SELECT conversation_id, max(number),
            coalesce(max(timestamp) FILTER (WHERE timestamp < 253402300800.0), '-Infinity')
        FROM came
        GROUP BY conversation_id ORDER BY conversation_id COLLATE "C"
        ON CONFLICT (conversation_id) DO UPDATE SET
            revision = gen_random_uuid(),
            last = greatest(c.last, excluded.last), latest = greatest(c.latest, excluded.latest);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER messages_inserted AFTER INSERT ON {schema}.messages
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT
    WHEN (current_setting('cogency_rs.appends', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION {schema}.revise();
CREATE TRIGGER messages_changed AFTER UPDATE ON {schema}.messages
    REFERENCING OLD TABLE AS gone NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION {schema}.revise();
CREATE TRIGGER messages_deleted AFTER DELETE ON {schema}.messages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION {schema}.revise();
CREATE TRIGGER messages_truncated AFTER TRUNCATE ON {schema}.messages
    FOR EACH STATEMENT EXECUTE FUNCTION {schema}.revise();
UPDATE {schema}.conversations SET revision = gen_random_uuid();
"""

TRIGGERS = """
    SELECT CASE WHEN count(*) = 4 THEN string_agg(oid::text || '.' || xmin::text, '/' ORDER BY tgname) END
    FROM pg_trigger
    WHERE tgrelid = '{tables}.messages'::regclass AND tgenabled IN ('O', 'A')
        AND tgname IN ('messages_inserted', 'messages_changed', 'messages_deleted', 'messages_truncated')
"""
"""The state of the triggers; null if one is missing or disabled."""


_TABLES = """
CREATE TABLE {schema}.conversations (
    conversation_id text PRIMARY KEY,
    revision uuid NOT NULL DEFAULT gen_random_uuid(),  -- see above
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
) WITH (fillfactor = 70);  -- no index on the status: a call is then settled in its own page
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
"""

_REVISION = """
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
"""

# Heads come sorted by code points, so that two programs never wait for each other. Arrays with the same first letter
# have the same length: h are heads, m messages, c calls, p parts. m_head is the conversation's place among the heads,
# from 1. The times of the messages of a conversation rise; here they are lifted above those that are there.
_APPEND = """
CREATE FUNCTION {schema}.append(
    by_writer text, with_sequence bigint,
    h_id text[], h_count bigint[], h_latest double precision[], h_owner text[],
    m_head integer[], m_place bigint[], m_id text[], m_message text[], m_user text[], m_type text[],
    m_content text[], m_timestamp double precision[], m_written double precision[],
    c_id text[], c_batch text[], c_position integer[], c_user text[], c_message text[], c_call text[], c_name text[],
    c_server text[], c_status text[], c_attempt integer[], c_started double precision[],
    c_completed double precision[], c_worker text[], c_decision text[], c_result text[],
    c_settling text[], c_provider text[], c_digest text[],
    p_id text[], p_message text[], p_number integer[], p_type text[], p_media text[], p_data bytea[], p_at integer[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    lasts bigint[];
    befores double precision[];
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
        SET last = c.last + excluded.last, earlier = c.latest,
            latest = greatest(c.latest, excluded.latest, nullif(c.latest, '-Infinity') + excluded.last * {step})
        RETURNING c.conversation_id COLLATE "C" AS id, c.last, c.earlier, c.lease_owner, c.lease_worker
    )
    SELECT array_agg(last ORDER BY id), array_agg(nullif(earlier, '-Infinity') ORDER BY id),
        array_agg(lease_owner ORDER BY id), array_agg(lease_worker ORDER BY id)
    INTO lasts, befores, owners, workers FROM heads;

    SELECT h.id, CASE WHEN h.owner IS NOT NULL THEN h.worker END AS worker INTO lost
    FROM unnest(h_id, h_owner, owners, workers) AS h(id, wanted, owner, worker)
    WHERE h.wanted IS NOT NULL AND h.owner IS DISTINCT FROM h.wanted LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = '{lost_claim}', MESSAGE = lost.id, DETAIL = coalesce(lost.worker, '');
    END IF;

    PERFORM set_config('cogency_rs.appends', 'on', true);  -- see above
    INSERT INTO {schema}.messages (conversation_id, number, message_id, user_id, type, content, timestamp, written_at)
    SELECT m.id, lasts[m.head] - h_count[m.head] + m.place, m.message, m.user_id, m.type, m.content, risen,
        nullif(m.written, risen)
    FROM unnest(m_head, m_place, m_id, m_message, m_user, m_type, m_content, m_timestamp, m_written)
        AS m(head, place, id, message, user_id, type, content, timestamp, written)
    CROSS JOIN LATERAL (SELECT befores[m.head] AS latest) AS c
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN m.timestamp < {end} THEN greatest(m.timestamp, c.latest + m.place * {step}) ELSE m.timestamp
        END AS risen
    ) AS times;
    PERFORM set_config('cogency_rs.appends', 'off', true);

    INSERT INTO {schema}.calls AS c (
        conversation_id, batch, position, user_id, message_id, call_id, name, server, status, attempt, started_at,
        completed_at, worker, decision, result, settling, provider_id, digest, number
    )
    SELECT call.*, row.number FROM unnest(
        c_id, c_batch, c_position, c_user, c_message, c_call, c_name, c_server, c_status, c_attempt, c_started,
        c_completed, c_worker, c_decision, c_result, c_settling, c_provider, c_digest
    ) AS call(id, batch, position, user_id, message)
    LEFT JOIN (
        SELECT message, lasts[head] - h_count[head] + place AS number
        FROM unnest(m_head, m_place, m_message) AS m(head, place, message)
    ) AS row ON row.message = call.message
    ON CONFLICT (conversation_id, batch, position) DO UPDATE  -- the row of a call stays once it is known
    SET message_id = coalesce(c.message_id, excluded.message_id), number = coalesce(c.number, excluded.number),
        status = excluded.status, attempt = excluded.attempt, started_at = excluded.started_at,
        completed_at = excluded.completed_at, worker = excluded.worker, decision = excluded.decision,
        result = excluded.result, settling = excluded.settling, digest = excluded.digest;

    INSERT INTO {schema}.parts (conversation_id, message_id, number, type, media_type, data, at)
    SELECT * FROM unnest(p_id, p_message, p_number, p_type, p_media, p_data, p_at);
    RETURN true;
END $$;
"""

_FORGET = """
CREATE FUNCTION {schema}.forget(id text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    count bigint;
BEGIN
    PERFORM 1 FROM {schema}.conversations WHERE conversation_id = id FOR UPDATE;  -- appends to it wait from here on
    DELETE FROM {schema}.events WHERE conversation_id = id;
    DELETE FROM {schema}.calls WHERE conversation_id = id;
    DELETE FROM {schema}.parts WHERE conversation_id = id;
    DELETE FROM {schema}.messages WHERE conversation_id = id;
    GET DIAGNOSTICS count = ROW_COUNT;
    DELETE FROM {schema}.conversations WHERE conversation_id = id;
    RETURN count;
END $$;
"""

# Each statement of a function sees what was committed before it began, so the second one sees all rows of the run that
# had the lease before.
_TAKE = """
CREATE FUNCTION {schema}.take(
    ids text[], owners text[], seconds double precision, by_writer text, by_worker text, on_machine text, gone text[]
) RETURNS TABLE (taken text, lease bigint, first_user text, has_open boolean) LANGUAGE plpgsql AS $$
DECLARE
    found_ids text[];
    numbers bigint[];
BEGIN
    WITH leases AS (
        INSERT INTO {schema}.conversations AS c (
            conversation_id, lease_number, lease_owner, lease_expires_at, lease_writer, lease_worker, lease_machine
        )
        SELECT id, 1, owner, clock_timestamp() + seconds * interval '1 second', by_writer, by_worker, on_machine
        FROM unnest(ids, owners) AS wanted(id, owner)
        ON CONFLICT (conversation_id) DO UPDATE SET
            lease_number = c.lease_number + 1, lease_owner = excluded.lease_owner,
            lease_expires_at = excluded.lease_expires_at, lease_writer = excluded.lease_writer,
            lease_worker = excluded.lease_worker, lease_machine = excluded.lease_machine
        WHERE {free}
            OR c.lease_writer = by_writer  -- a leftover: in this program the caller is first in line
            OR c.lease_owner = ANY(gone)
        RETURNING c.conversation_id AS id, c.lease_number AS number
    )
    SELECT array_agg(id), array_agg(number) INTO found_ids, numbers FROM leases;
    RETURN QUERY SELECT t.id, t.number, (
        SELECT m.user_id FROM {schema}.messages AS m WHERE m.conversation_id = t.id ORDER BY m.number LIMIT 1
    ), EXISTS (
        SELECT 1 FROM {schema}.calls AS c WHERE c.conversation_id = t.id AND c.status NOT IN {ends}
    ) FROM unnest(found_ids, numbers) AS t(id, number);
END $$;
"""

# A call may be `saved`, which version 1 does not know. Some tables of version 1 have decisions already, and the oldest
# have an index on the status of calls.
_DECISIONS = """
ALTER TABLE {schema}.calls ADD COLUMN IF NOT EXISTS decision text;
ALTER TABLE {schema}.calls SET (fillfactor = 70);
DROP INDEX IF EXISTS {schema}.calls_in_doubt;
"""

# A call may be `early` and get its row later, which version 2 does not know.
_EARLY_CALLS = """
COMMENT ON COLUMN {schema}.calls.message_id IS 'the row of the call; null before it has one';
"""

# The newest rows are found without the others.
_BY_TIME = """
CREATE INDEX IF NOT EXISTS messages_by_time ON {schema}.messages (conversation_id, timestamp, number);
"""

# A call may be `ended`, with its result, while others of its batch run; and it may be noted how an unknown outcome was
# settled. Version 4 knows neither.
_RESULTS = """
ALTER TABLE {schema}.calls ADD COLUMN IF NOT EXISTS result text;
ALTER TABLE {schema}.calls ADD COLUMN IF NOT EXISTS settling text;
"""

# A call has the id of its provider next to ours, which is unique, and a digest of what is decided about.
_IDENTITIES = """
ALTER TABLE {schema}.calls ADD COLUMN IF NOT EXISTS provider_id text;
ALTER TABLE {schema}.calls ADD COLUMN IF NOT EXISTS digest text;
UPDATE {schema}.calls SET provider_id = call_id, call_id = batch || '-' || position
WHERE provider_id IS NULL AND (
    call_id !~ '^[0-9a-f]{{8}}-[0-9a-f]{{4}}-7[0-9a-f]{{3}}-[89ab][0-9a-f]{{3}}-[0-9a-f]{{12}}$'
    OR call_id IN (SELECT call_id FROM {schema}.calls GROUP BY call_id HAVING count(*) > 1)
);
"""

# A row's number is its position. Rows that are there are numbered by what was read before, their time, then their
# number, among the numbers of their own conversation; in two statements, since no two rows may have one number.
_ORDER = f"""
CREATE TABLE IF NOT EXISTS {{schema}}.parts (
    conversation_id text NOT NULL,
    message_id text NOT NULL,
    number integer NOT NULL,
    type text NOT NULL,
    media_type text NOT NULL,
    data bytea NOT NULL,
    at integer NOT NULL,
    PRIMARY KEY (conversation_id, message_id, number)
);
ALTER TABLE {{schema}}.messages ADD COLUMN IF NOT EXISTS written_at double precision;
ALTER TABLE {{schema}}.conversations ADD COLUMN IF NOT EXISTS earlier double precision NOT NULL DEFAULT '-Infinity';
WITH placed AS (
    SELECT conversation_id, number,
        row_number() OVER (PARTITION BY conversation_id ORDER BY timestamp, number) AS place,
        row_number() OVER (PARTITION BY conversation_id ORDER BY number) AS saved
    FROM {{schema}}.messages
)
UPDATE {{schema}}.messages AS m SET number = numbers.number - {2**62}
FROM placed JOIN placed AS numbers
    ON numbers.conversation_id = placed.conversation_id AND numbers.saved = placed.place
WHERE placed.place <> placed.saved AND m.conversation_id = placed.conversation_id AND m.number = placed.number;
UPDATE {{schema}}.messages SET number = number + {2**62} WHERE number < -{2**61};
UPDATE {{schema}}.conversations AS c SET latest = coalesce((
    SELECT max(timestamp) FROM {{schema}}.messages AS m
    WHERE m.conversation_id = c.conversation_id AND timestamp < {END_OF_TIME}
), '-Infinity') WHERE latest >= {END_OF_TIME};
DROP INDEX IF EXISTS {{schema}}.messages_by_time;
ALTER TABLE {{schema}}.calls ADD COLUMN IF NOT EXISTS number bigint;
COMMENT ON COLUMN {{schema}}.calls.number IS 'of the row of the call, whose order calls have';
UPDATE {{schema}}.calls AS c SET number = m.number FROM {{schema}}.messages AS m
WHERE m.conversation_id = c.conversation_id AND m.message_id = c.message_id;
"""

STEPS: tuple[str, ...] = (
    _TABLES + _REVISION,
    _DECISIONS,
    _EARLY_CALLS,
    WATCH + _BY_TIME,
    _RESULTS,
    _IDENTITIES,
    _ORDER + WATCH,
)
"""The statements that make each version from the one before, from version 1 on."""

# Drops them by name, whatever arguments they had.
_DROP_FUNCTIONS = """
DO $$
DECLARE
    old text;
BEGIN
    FOR old IN
        SELECT oid::regprocedure FROM pg_proc
        WHERE pronamespace = '{schema}'::regnamespace AND proname IN ('append', 'forget', 'take')
    LOOP
        EXECUTE 'DROP FUNCTION ' || old;
    END LOOP;
END $$;
"""

FUNCTIONS = _DROP_FUNCTIONS + _APPEND + _FORGET + _TAKE
"""The statements that make the functions of the last version; `WORDS` fills them, with the schema."""

FREE = "c.lease_owner IS NULL OR c.lease_expires_at <= clock_timestamp()"
"""Whether the lease in a head c can be taken."""

WORDS: dict[str, object] = {
    "lost_claim": LOST_CLAIM,
    "free": FREE,
    "ends": tuple(sorted(ENDS)),
    "end": END_OF_TIME,
    # Above the distance of two floats next to each other, so that the sum is above `latest`.
    "step": f"greatest({STEP!r}, abs(c.latest) * 4.5e-16)",
}


# Not by `to_regclass`, which may have cached that there were none.
_HAS_TABLES = """
    SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1 AND relname = 'schema_version'
"""


async def find_version(connection: PostgresConnection, address: Address) -> int:
    """The version of the tables in a database; 0 where there are none.

    Raises:
        StorageError: a newer version of this package made them.
    """
    if not await connection.fetchval(_HAS_TABLES, address.schema):
        return 0
    query = f"SELECT coalesce(max(version), 0) FROM {address.tables}.schema_version"
    version = int(await connection.fetchval(query))
    if version > len(STEPS):
        raise StorageError(
            f"the log in schema {address.schema} of {address.place} is of version {version}, and this program knows up "
            f"to {len(STEPS)}; run: pip install --upgrade cogency-rs"
        )
    return version


async def prepare(connection: PostgresConnection, address: Address) -> None:
    """Make the tables, or bring them to this version. Any number of programs may do so at once.

    Raises:
        StorageError: a newer version of this package made them.
    """
    if await find_version(connection, address) == len(STEPS):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _key(address.schema))
        version = await find_version(
            connection, address
        )  # another program may have upgraded it before we got the lock
        if version == len(STEPS):
            return
        if version == 0:
            # Even with IF NOT EXISTS, the statement would need the right to make a schema.
            found = "SELECT 1 FROM pg_namespace WHERE nspname = $1"
            if not await connection.fetchval(found, address.schema):
                await connection.execute(f"CREATE SCHEMA {address.tables}")
            await connection.execute(
                f"CREATE TABLE {address.tables}.schema_version"
                " (version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now())"
            )
        for number, step in enumerate(STEPS[version:], start=version + 1):
            await connection.execute(step.format(schema=address.tables))
            await connection.execute(
                f"INSERT INTO {address.tables}.schema_version (version) VALUES ($1)", number
            )
        await connection.execute(FUNCTIONS.format(schema=address.tables, **WORDS))


def _key(schema: str) -> int:
    """The number of the advisory lock that guards making the tables."""
    digest = hashlib.blake2b(f"cogency-rs {schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
