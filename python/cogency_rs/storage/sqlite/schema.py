"""The tables of a SQLite log, how they are made and brought to this version, and how changes of rows are noticed.

The tables of cogency 3.3.0 are its own, so that both programs can work on one file, even at the same time. Its table of
messages has a column and an index of ours, which disturb none of its statements. Our tables are next to them; cogency
does not know them. The version of our tables is in a table too: SQLite's `user_version` belongs to the program whose
file it is.

Each version is a step from the one before. A released step is never changed: a change of our tables is a new step, and
so is a change of what a value in them means. Each step can also be run on a file that has it already, since the first
files had no version number.

A table of ours has a random *revision* for each conversation that has rows. Triggers on cogency's table of messages
replace it when a row is deleted, changed, replaced, or gets a number below the last one's. SQLite fires them for every
program that writes to the file, cogency 3.3.0 and the `sqlite3` shell included. An append at the end changes nothing
here. Revisions are random and not counted, so that a backup which is restored cannot have the same one by chance.

Invariant: between two moments with equal revisions of a conversation, rows were only added after its last row.

Three changes fire no trigger of their own, and are noticed otherwise:

- A row that `REPLACE` removes, in an insert or an update. The triggers before the statement look for it.
- A change while the triggers were missing. The number of the file's schema, which a cursor has too (`queries.py`),
  counts every trigger that is dropped or made, every `VACUUM` and every restore into the file; and `watch` makes all
  revisions again.
- Another file under the same path. A cursor names the file too.
"""

from __future__ import annotations

import sqlite3

from ...errors import StorageError
from ...outside import time
from ..rows import IS_OPEN, VERSIONS

REVISIONS_TABLE = "cogency_rs_revisions"

# Deletes and inserts, since an `OR IGNORE` of the statement that fires a trigger would hold for an `OR REPLACE` in it.
_REVISE = f"""
    DELETE FROM {REVISIONS_TABLE} WHERE conversation_id = {{row}}.conversation_id;
    INSERT INTO {REVISIONS_TABLE} SELECT {{row}}.conversation_id, random()
    WHERE EXISTS (SELECT 1 FROM messages WHERE conversation_id = {{row}}.conversation_id);
"""

_REVISE_REPLACED = f"""
    UPDATE {REVISIONS_TABLE} SET revision = random() WHERE conversation_id IN (
        SELECT conversation_id FROM messages WHERE message_id = NEW.message_id OR rowid = NEW.rowid
    );
"""

_TRIGGERS = {
    "cogency_rs_replaced": f"""
        BEFORE INSERT ON messages
        WHEN EXISTS (SELECT 1 FROM messages WHERE message_id = NEW.message_id)
            OR EXISTS (SELECT 1 FROM messages WHERE rowid = NEW.rowid)
        BEGIN {_REVISE_REPLACED} END
    """,
    "cogency_rs_inserted": f"""
        AFTER INSERT ON messages
        WHEN NOT EXISTS (SELECT 1 FROM {REVISIONS_TABLE} WHERE conversation_id = NEW.conversation_id)
            OR NEW.rowid <> (
                SELECT rowid FROM messages WHERE conversation_id = NEW.conversation_id
                ORDER BY rowid DESC LIMIT 1
            )
        BEGIN {_REVISE.format(row="NEW")} END
    """,
    "cogency_rs_replaced_by_update": f"""
        BEFORE UPDATE ON messages
        BEGIN {_REVISE_REPLACED} END
    """,
    "cogency_rs_updated": f"""
        AFTER UPDATE ON messages
        BEGIN {_REVISE.format(row="OLD")} {_REVISE.format(row="NEW")} END
    """,
    "cogency_rs_deleted": f"""
        AFTER DELETE ON messages
        BEGIN
            {_REVISE.format(row="OLD")}
            DELETE FROM cogency_rs_parts
            WHERE conversation_id = OLD.conversation_id AND message_id = OLD.message_id;
        END
    """,
}

_NAMES = ", ".join(f"'{name}'" for name in (REVISIONS_TABLE, *_TRIGGERS))
_COUNT = f"SELECT COUNT(*) FROM sqlite_master WHERE name IN ({_NAMES})"


def unwatch(connection: sqlite3.Connection) -> None:
    """Remove the triggers and their table."""
    for name in _TRIGGERS:
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    connection.execute(f"DROP TABLE IF EXISTS {REVISIONS_TABLE}")


def watch(connection: sqlite3.Connection) -> None:
    """Make the table and its triggers, and a new revision for every conversation; costs time linear in the log.

    Args:
        connection: in a transaction.
    """
    unwatch(connection)
    connection.execute(
        f"CREATE TABLE {REVISIONS_TABLE} (conversation_id TEXT PRIMARY KEY NOT NULL, revision INTEGER NOT NULL)"
        " WITHOUT ROWID"
    )
    connection.execute(
        f"INSERT INTO {REVISIONS_TABLE} SELECT conversation_id, random() FROM messages GROUP BY conversation_id"
    )
    for name, trigger in _TRIGGERS.items():
        connection.execute(f"CREATE TRIGGER {name} {trigger}")


def is_watched(connection: sqlite3.Connection) -> bool:
    """Whether a file has the table and all triggers."""
    [count] = connection.execute(_COUNT).fetchone()
    return bool(count == 1 + len(_TRIGGERS))


COGENCYS = """
BEGIN;
CREATE TABLE IF NOT EXISTS messages (
    message_id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    user_id TEXT,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    timestamp REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_messages_conversation ON messages(conversation_id, timestamp);
CREATE INDEX IF NOT EXISTS idx_messages_type ON messages(type);
CREATE INDEX IF NOT EXISTS idx_messages_user ON messages(user_id);
CREATE INDEX IF NOT EXISTS idx_messages_user_type ON messages(user_id, type, timestamp);
CREATE TABLE IF NOT EXISTS events (
    event_id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    timestamp REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_events_conversation ON events(conversation_id, timestamp);
CREATE TABLE IF NOT EXISTS profiles (
    user_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL,
    created_at REAL NOT NULL,
    char_count INTEGER NOT NULL,
    PRIMARY KEY (user_id, version)
);
CREATE INDEX IF NOT EXISTS idx_profiles_user_latest ON profiles(user_id, version DESC);
CREATE INDEX IF NOT EXISTS idx_profiles_cleanup ON profiles(created_at);
COMMIT;
"""
"""Makes those of cogency's tables that are missing."""

_VERSION = "cogency_rs_version"

_CALLS = """
CREATE TABLE IF NOT EXISTS calls (
    conversation_id TEXT NOT NULL,
    user_id TEXT,
    message_id TEXT,
    call_id TEXT NOT NULL,
    batch TEXT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    server TEXT,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    started_at REAL,
    completed_at REAL,
    worker TEXT,
    PRIMARY KEY (conversation_id, batch, position)
) WITHOUT ROWID
"""
# `message_id` is that of the call's row. `call_id` is not the key, since some servers repeat ids.

OPEN_CALLS = "calls_in_doubt"
"""The index of the calls that are not settled: a long conversation has many calls, and hardly ever an open one."""
UNKNOWN_CALLS = "unknown_calls"
"""The index of the calls whose outcome is unknown."""
IS_UNKNOWN = "status = 'unknown'"
_OPEN_CALLS = """
CREATE INDEX IF NOT EXISTS open_calls ON calls (conversation_id, batch, position)
WHERE status IN ('early', 'open', 'saved', 'waiting')
"""

_CLAIMS = """
CREATE TABLE IF NOT EXISTS claims (
    conversation_id TEXT PRIMARY KEY NOT NULL,
    number INTEGER NOT NULL,
    owner TEXT,
    expires_at REAL NOT NULL,
    worker TEXT NOT NULL,
    machine TEXT NOT NULL
) WITHOUT ROWID
"""


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute(_CALLS)
    connection.execute(_CLAIMS)


def _add_decisions(connection: sqlite3.Connection) -> None:
    """Add decisions to calls. A call may also be `saved`, which version 1 does not know."""
    if not has_column(connection, "calls", "decision"):
        connection.execute("ALTER TABLE calls ADD COLUMN decision TEXT")


def _allow_early_calls(connection: sqlite3.Connection) -> None:
    """Let a call be `early` and get its row later, which version 2 does not know; and find open calls quickly."""
    connection.execute(_OPEN_CALLS)


def _add_results(connection: sqlite3.Connection) -> None:
    """Let a call be `ended`, with its result, while others of its batch run; note how an unknown outcome was settled.

    Version 4 knows neither, and its index has no calls that are `ended`.
    """
    for column in ("result", "settling"):
        if not has_column(connection, "calls", column):
            connection.execute(f"ALTER TABLE calls ADD COLUMN {column} TEXT")
    connection.execute("DROP INDEX IF EXISTS open_calls")
    connection.execute(
        f"CREATE INDEX IF NOT EXISTS {UNKNOWN_CALLS} ON calls (conversation_id, batch, position) WHERE {IS_UNKNOWN}"
    )
    connection.execute(
        "CREATE INDEX IF NOT EXISTS unsettled_calls ON calls (conversation_id, batch, position)"
        " WHERE status IN ('early', 'ended', 'open', 'saved', 'waiting')"
    )


_HEX = "[0-9a-f]"
_UUID7 = "-".join((_HEX * 8, _HEX * 4, "7" + _HEX * 3, "[89ab]" + _HEX * 3, _HEX * 12))
IS_PROVIDERS = f"""(
    call_id NOT GLOB '{_UUID7}'
    OR call_id IN (SELECT call_id FROM calls GROUP BY call_id HAVING COUNT(*) > 1)
)"""
"""Whether the `call_id` of a file of version 5 may be a provider's, which is in `provider_id` since."""
OWN_ID = "batch || '-' || position"
"""The id that such a call has since; its tool was told the same one."""


def _add_identities(connection: sqlite3.Connection) -> None:
    """Let a call have the id of its provider next to ours, which is unique, and a digest of what is decided about.

    A call may be in further states that are not its end, and is found in these too.
    """
    for column in ("provider_id", "digest"):
        if not has_column(connection, "calls", column):
            connection.execute(f"ALTER TABLE calls ADD COLUMN {column} TEXT")
    connection.execute(
        f"UPDATE calls SET provider_id = call_id, call_id = {OWN_ID} WHERE provider_id IS NULL AND {IS_PROVIDERS}"
    )
    connection.execute("DROP INDEX IF EXISTS unsettled_calls")
    connection.execute(
        f"CREATE INDEX IF NOT EXISTS {OPEN_CALLS} ON calls (conversation_id, batch, position) WHERE {IS_OPEN}"
    )


_PARTS = """
CREATE TABLE IF NOT EXISTS cogency_rs_parts (
    conversation_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    type TEXT NOT NULL,
    media_type TEXT NOT NULL,
    data BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, message_id, number)
)
"""
_ORDER = "CREATE INDEX IF NOT EXISTS cogency_rs_order ON messages (conversation_id)"
"""The entries of an index end with the number of the row, so these are in the order in which rows are read."""

# Found by the index of conversations and times alone.
_DISORDERED = """
SELECT DISTINCT conversation_id FROM (
    SELECT conversation_id, rowid AS number,
        LAG(rowid) OVER (PARTITION BY conversation_id ORDER BY timestamp, rowid) AS before
    FROM messages
) WHERE before > number
"""
_MOVED = f"""
CREATE TEMP TABLE cogency_rs_moved AS
WITH placed AS (
    SELECT rowid AS was, conversation_id AS id,
        ROW_NUMBER() OVER (PARTITION BY conversation_id ORDER BY timestamp, rowid) AS place,
        ROW_NUMBER() OVER (PARTITION BY conversation_id ORDER BY rowid) AS saved
    FROM messages WHERE conversation_id IN ({_DISORDERED})
)
SELECT moved.was, numbers.was AS number
FROM placed AS moved JOIN placed AS numbers ON numbers.id = moved.id AND numbers.saved = moved.place
WHERE moved.was <> numbers.was
"""


def _keep_the_order(connection: sqlite3.Connection) -> None:
    """Let a row's number be its position in its conversation, and give rows a second time and parts.

    The rows there are numbered once by what was read until now: their time, then their number. Only rows of
    conversations in which these differ are moved, among the numbers of their own conversation.
    """
    connection.execute(_PARTS)
    if not is_ordered(connection):
        columns = ", ".join(
            f'"{name}"'
            for (name,) in connection.execute("SELECT name FROM pragma_table_info('messages')")
        )
        connection.execute(_MOVED)
        connection.execute(
            "CREATE TEMP TABLE cogency_rs_moved_rows AS"
            f" SELECT number AS its_number, {columns} FROM messages JOIN cogency_rs_moved ON messages.rowid = was"
        )
        connection.execute("DELETE FROM messages WHERE rowid IN (SELECT was FROM cogency_rs_moved)")
        connection.execute(
            f"INSERT INTO messages (rowid, {columns}) SELECT its_number, {columns} FROM cogency_rs_moved_rows"
        )
        for table in ("cogency_rs_moved", "cogency_rs_moved_rows"):
            connection.execute(f"DROP TABLE temp.{table}")
        connection.execute("ALTER TABLE messages ADD COLUMN written_at REAL")
    connection.execute(_ORDER)


def is_ordered(connection: sqlite3.Connection) -> bool:
    """Whether the number of a row is its position; if not, rows are read by time, as versions before did."""
    return has_column(connection, "messages", "written_at")


def _watch(connection: sqlite3.Connection) -> None:
    """Notice changes of rows. The triggers are made after the last step, as they are now."""


STEPS = (
    _make_tables,
    _add_decisions,
    _allow_early_calls,
    _watch,
    _add_results,
    _add_identities,
    _keep_the_order,
)
"""The functions that make each version from the one before, from version 1 on."""


def check_version(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a file that this version cannot read.

    Raises:
        StorageError: a newer version of this package made our tables in it.
    """
    _find_version(connection, path)


def upgrade(connection: sqlite3.Connection, path: str) -> None:
    """Make our tables, or bring them to this version. Any number of programs may do so at once.

    On a file of this version it writes nothing, unless somebody dropped a trigger, or our column or index of messages.

    Raises:
        StorageError: a newer version of this package made them.
    """
    if _find_version(connection, path) == len(STEPS) and _is_complete(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _find_version(
            connection, path
        )  # another program may have upgraded it before we got the lock
        if not version:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {_VERSION} (version INTEGER PRIMARY KEY, made_at REAL NOT NULL)"
            )
        if version < len(STEPS):
            unwatch(connection)
        for number, step in enumerate(STEPS[version:], start=version + 1):
            step(connection)
            connection.execute(f"INSERT INTO {_VERSION} VALUES (?, ?)", (number, time()))
        if not _is_complete(connection):
            _keep_the_order(connection)
            watch(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_complete(connection: sqlite3.Connection) -> bool:
    return (
        is_watched(connection)
        and is_ordered(connection)
        and has_index(connection, "cogency_rs_order")
    )


def _find_version(connection: sqlite3.Connection, path: str) -> int:
    """The version of our tables; 0 if there are none, or they are older than version numbers.

    Raises:
        StorageError: a newer version of this package made them.
    """
    if not has_table(connection, _VERSION):
        return 0
    [version] = connection.execute(f"SELECT COALESCE(MAX(version), 0) FROM {_VERSION}").fetchone()
    VERSIONS.check((version,), "the newest")
    if version > len(STEPS):
        raise StorageError(
            f"the log in {path} is of version {version}, but this program knows versions up to {len(STEPS)}; "
            "run: pip install --upgrade cogency-rs"
        )
    return int(version)


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a file has a table of this name."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def has_index(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a file has an index of this name."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def has_column(connection: sqlite3.Connection, table: str, name: str) -> bool:
    """Whether a table of a file has a column of this name."""
    query = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
    return connection.execute(query, (table, name)).fetchone() is not None
