"""Notices every change of a conversation's rows in PostgreSQL that `append` did not make.

The head of a conversation has a random revision. Triggers on the table of messages replace it when rows are deleted,
changed, truncated, or inserted by anything but `append` and a copy of a log; a revision is random and not counted, so
that a restored backup cannot have the same one by chance. A row that another program inserts also raises the number
and the time in the head, so that the next append comes after it. The triggers change the head in the transaction that
changes the rows, so a reader sees both or neither, whichever transaction commits first.

Invariant: between two moments with equal revisions of a conversation, rows were only added with larger numbers.

While `append` inserts, a setting of its transaction says that the rows are its own.

A trigger that is dropped or disabled sees nothing, and other rows may be there when it is back. So a cursor has the
state of the triggers too (`TRIGGERS`): any such change gives them another one.
"""

from __future__ import annotations

__all__ = ["APPENDS", "TRIGGERS", "WATCH"]

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
