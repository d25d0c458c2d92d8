"""Notices every change of a conversation's rows in a SQLite file that is not an append at its end.

A table of ours has a random revision for each conversation that has rows. Triggers on cogency's table of messages
replace it when a row is deleted, changed, replaced, or gets a number below the last one's. SQLite fires them for every
program that writes to the file, cogency 3.3.0 and the `sqlite3` shell included. An append at the end changes nothing
here. Revisions are random and not counted, so that a backup which is restored cannot have the same one by chance.

Invariant: between two moments with equal revisions of a conversation, rows were only added after its last row.

Three changes fire no trigger of their own, and are noticed otherwise:

- A row that `REPLACE` removes, in an insert or an update. The triggers before the statement look for it.
- A change while the triggers were missing. The number of the file's schema, which a cursor has too (`tail.py`), counts
  every trigger that is dropped or made, every `VACUUM` and every restore into the file; and `watch` makes all
  revisions again.
- Another file under the same path. A cursor names the file too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

__all__ = ["TABLE", "is_watched", "unwatch", "watch"]

TABLE = "cogency_rs_revisions"

# Deletes and inserts, since an `OR IGNORE` of the statement that fires a trigger would hold for an `OR REPLACE` in it.
_REVISE = f"""
    DELETE FROM {TABLE} WHERE conversation_id = {{row}}.conversation_id;
    INSERT INTO {TABLE} SELECT {{row}}.conversation_id, random()
    WHERE EXISTS (SELECT 1 FROM messages WHERE conversation_id = {{row}}.conversation_id);
"""

_REVISE_REPLACED = f"""
    UPDATE {TABLE} SET revision = random() WHERE conversation_id IN (
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
        WHEN NOT EXISTS (SELECT 1 FROM {TABLE} WHERE conversation_id = NEW.conversation_id)
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

_NAMES = ", ".join(f"'{name}'" for name in (TABLE, *_TRIGGERS))
_COUNT = f"SELECT COUNT(*) FROM sqlite_master WHERE name IN ({_NAMES})"


def unwatch(connection: sqlite3.Connection) -> None:
    """Remove the triggers and their table."""
    for name in _TRIGGERS:
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")


def watch(connection: sqlite3.Connection) -> None:
    """Make the table and its triggers, and a new revision for every conversation; costs time linear in the log.

    Args:
        connection: in a transaction.
    """
    unwatch(connection)
    connection.execute(
        f"CREATE TABLE {TABLE} (conversation_id TEXT PRIMARY KEY NOT NULL, revision INTEGER NOT NULL) WITHOUT ROWID"
    )
    connection.execute(
        f"INSERT INTO {TABLE} SELECT conversation_id, random() FROM messages GROUP BY conversation_id"
    )
    for name, trigger in _TRIGGERS.items():
        connection.execute(f"CREATE TRIGGER {name} {trigger}")


def is_watched(connection: sqlite3.Connection) -> bool:
    """Whether a file has the table and all triggers."""
    [count] = connection.execute(_COUNT).fetchone()
    return bool(count == 1 + len(_TRIGGERS))
