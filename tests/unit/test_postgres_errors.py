"""Errors of a log in PostgreSQL: one line that says what to do, without a password."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest

from cogency_rs import PostgreSQL
from cogency_rs.errors import ConfigError, StorageError
from cogency_rs.storage.postgres import pool, schema
from cogency_rs.storage.postgres.connection import Address, explain, is_passing, read_dsn
from support.postgres_server import WITH_PASSWORD

asyncpg = pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")

SECRET = "s3cr3t-w0rd"


async def failure(dsn: str) -> StorageError:
    """The error of an append to the log at this address."""
    async with PostgreSQL(dsn) as log:
        with pytest.raises(StorageError) as caught:
            await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
        with pytest.raises(StorageError):
            await log.read("c")
    return caught.value


def check_line(error: Exception, *parts: str) -> None:
    message = str(error)
    assert "\n" not in message
    assert SECRET not in message
    assert all(part in message for part in parts), message


@pytest.fixture
async def role(other_connection):
    await other_connection.execute(f"CREATE ROLE {WITH_PASSWORD} LOGIN PASSWORD '{SECRET}'")
    yield WITH_PASSWORD
    await other_connection.execute(f"DROP OWNED BY {WITH_PASSWORD}; DROP ROLE {WITH_PASSWORD}")


# The server


async def test_a_missing_server_is_an_error_at_once():
    with socket.socket() as bound:  # a port on which no server listens
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        error = await failure(f"postgresql://u:{SECRET}@127.0.0.1:{port}/db")
    check_line(error, f"127.0.0.1:{port}/db", "check that the server runs")
    assert error.retryable


async def test_an_unknown_host():
    error = await failure(f"postgresql://u:{SECRET}@no.such.host.invalid/db")
    check_line(error, "no.such.host.invalid/db does not answer", "check that the server runs")
    assert error.retryable


async def test_a_wrong_password(postgres, role):
    wrong = "postgres@", f"{role}:{SECRET}wrong@"
    error = await failure(postgres.address.replace(*wrong))
    check_line(error, "refuses the user or the password", "correct them in the DSN")
    assert not error.retryable


async def test_a_password_with_special_characters(dsn, role, other_connection):
    password = "a/b?c#d@e:f%g"
    await other_connection.execute(f"ALTER ROLE {role} PASSWORD '{password}'")
    await other_connection.execute(f"GRANT CREATE ON DATABASE postgres TO {role}")
    written = "a%2Fb%3Fc%23d%40e%3Af%25g"
    async with PostgreSQL(dsn.replace("postgres@", f"{role}:{written}@")) as log:
        await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
        assert len((await log.read("c")).rows) == 1


async def test_a_database_that_does_not_exist(postgres):
    error = await failure(postgres.address.replace("/postgres?", "/nowhere?"))
    check_line(error, "/nowhere has no database of that name", "create it, or correct its name")
    assert not error.retryable


async def test_a_user_who_may_not_make_tables(dsn, role):
    error = await failure(dsn.replace("postgres@", f"{role}:{SECRET}@"))
    check_line(error, "does not let this user do that", "GRANT CREATE on the database")
    assert not error.retryable


async def test_a_standby(dsn):
    error = await failure(f"{dsn}&default_transaction_read_only=on")
    check_line(error, "is read-only", "name the primary server")
    assert not error.retryable


async def test_a_server_without_tls_where_tls_is_asked_for(postgres):
    error = await failure(postgres.address.replace("sslmode=disable", "sslmode=require"))
    check_line(error, "SSL")


@pytest.mark.parametrize(
    ("kind", "parts", "retryable"),
    [
        (asyncpg.DiskFullError, ("no room to grow", "free some disk space"), False),
        (asyncpg.TooManyConnectionsError, ("no connection left", "max_connections"), True),
        (asyncpg.CannotConnectNowError, ("broke the connection", "try again"), True),
        (asyncpg.AdminShutdownError, ("broke the connection", "try again"), True),
        (asyncpg.DeadlockDetectedError, ("conflict with another program", "try again"), True),
        (asyncpg.OutOfMemoryError, ("no memory left", "try again"), True),
        (asyncpg.PostgresIOError, ("cannot read or write its files", "server's own log"), False),
        (asyncpg.DataCorruptedError, ("damaged", "backup"), False),
        (asyncpg.UndefinedColumnError, ("other tables", "?schema=NAME"), False),
        (asyncpg.InterfaceError, ("broke the connection", "try again"), True),
        (TimeoutError, ("does not answer", "check that the server runs"), True),
        (LookupError, ("failed",), False),
    ],
)
async def test_each_error_of_the_server_is_explained(dsn, monkeypatch, kind, parts, retryable):
    monkeypatch.setattr(pool, "PATIENCE", 0.0)

    async def fails(*_: Any) -> None:
        raise kind("it was said")

    async with PostgreSQL(dsn) as log:
        await log.append("c", user_id="u", rows=[("user", "before", 1.0)])
        with monkeypatch.context() as patch:
            patch.setattr(pool.WriteStep, "carry_out", fails)
            saves = [log.append(id, user_id="u", rows=[("user", "now", 2.0)]) for id in "cd"]
            for save in saves:
                with pytest.raises(StorageError) as caught:
                    await save
                check_line(caught.value, "it was said", *parts)
                assert caught.value.retryable == retryable
        await log.append("c", user_id="u", rows=[("user", "after", 3.0)])
        contents = [row["content"] for row in (await log.read("c")).rows]
    assert contents == ["before", "after"]


def test_the_message_does_not_repeat_a_refused_value():
    cause = UnicodeEncodeError("utf-8", SECRET, 0, 1, "surrogates not allowed")
    error = asyncpg.DataError(f"invalid input for query argument $1: ['{SECRET}'] ({cause})")
    error.__cause__ = LookupError("surrogates not allowed")
    explained = explain(error, Address("", "cogency", "db/app"))
    check_line(explained, "db/app refused a value (surrogates not allowed)", "nothing of this call")
    assert not is_passing(error)


# Versions


async def test_a_newer_version_is_refused(dsn, other_connection):
    name = dsn.partition("&schema=")[2]
    async with PostgreSQL(dsn) as log:
        await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
    await other_connection.execute(f"INSERT INTO {name}.schema_version (version) VALUES (99)")
    error = await failure(dsn)
    check_line(error, f"schema {name}", "is of version 99", "pip install --upgrade cogency-rs")
    assert not error.retryable


async def test_an_older_version_is_migrated_in_place(dsn, other_connection, monkeypatch):
    async with PostgreSQL(dsn) as log:
        await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
    step = "ALTER TABLE {schema}.messages ADD COLUMN colour text NOT NULL DEFAULT 'red'"
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, step))
    async with PostgreSQL(dsn) as log:
        assert [row["content"] for row in (await log.read("c")).rows] == ["hello"]
    name = dsn.partition("&schema=")[2]
    assert await other_connection.fetchval(f"SELECT colour FROM {name}.messages") == "red"
    assert await other_connection.fetchval(
        f"SELECT max(version) FROM {name}.schema_version"
    ) == len(schema.STEPS)


async def test_a_migration_that_fails_leaves_everything_as_it_was(
    dsn, other_connection, monkeypatch
):
    name = dsn.partition("&schema=")[2]
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, "CREATE TABLE {schema}.messages ()"))
    check_line(await failure(dsn), "other tables")
    exists = await other_connection.fetchval("SELECT 1 FROM pg_namespace WHERE nspname = $1", name)
    assert exists is None


# The address


@pytest.mark.parametrize(
    ("dsn", "place"),
    [
        ("postgresql://u:p@db.example:5433/app", "db.example:5433/app"),
        ("postgres://db/app", "db/app"),
        ("postgresql://u@[::1]:5432/app", "[::1]:5432/app"),
        ("postgresql://one:1,two:2/app", "one:1,two:2/app"),
        ("postgresql://u:p%40%2F@db/app?sslmode=verify-full&schema=mine", "db/app"),
        ("postgresql:///app?host=/run/postgresql", "/run/postgresql/app"),
        ("postgresql://", "localhost"),
    ],
)
def test_a_place_is_host_and_database(monkeypatch, dsn, place):
    for name in ("PGHOST", "PGDATABASE"):
        monkeypatch.delenv(name, raising=False)
    assert read_dsn(dsn).place == place


def test_the_driver_gets_the_address_without_our_schema():
    address = read_dsn("postgresql://u:p@db/app?schema=mine&sslmode=verify-full")
    assert (address.schema, address.dsn) == ("mine", "postgresql://u:p@db/app?sslmode=verify-full")
    assert read_dsn("postgresql://db/app").schema == "cogency"
    assert "u:p" not in repr(address)


@pytest.mark.parametrize(
    ("dsn", "part"),
    [
        (f"mysql://u:{SECRET}@db/app", "it reads postgresql://user:password@host:port/database"),
        (f"host=db password={SECRET}", "it reads postgresql://"),
        (f"postgresql://u:{SECRET}/@db/app", "write @ : / ? # % as %40"),
        (f"postgresql://u:{SECRET}?@db/app", "write @ : / ? # % as %40"),
        (f"postgresql://u:{SECRET}#@db/app", "write @ : / ? # % as %40"),
        (f"postgresql://u:{SECRET}@db:port/app", "port"),
        (f"postgresql://u:{SECRET}@db/app?schema=Robert'); --", "schema="),
    ],
)
def test_text_that_is_not_an_address_is_refused_and_not_repeated(dsn, part):
    with pytest.raises(ConfigError) as caught:
        PostgreSQL(dsn)
    check_line(caught.value, part)


def test_a_log_without_connections_is_refused():
    with pytest.raises(
        ConfigError, match="connections must be a whole number of at least 1, got 0"
    ):
        PostgreSQL("postgresql://db/app", connections=0)


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(ConfigError, match=r"pip install 'cogency-rs\[postgres\]'"):
        PostgreSQL("postgresql://db/app")


async def test_a_closed_log_says_so(dsn):
    log = PostgreSQL(dsn)
    await log.append("c", user_id="u", rows=[("user", "hello", 1.0)])
    await log.close()
    await log.close()
    for work in (lambda: log.read("c"), lambda: log.append("c", rows=[]), log.conversations):
        with pytest.raises(StorageError, match="is closed; open a new one"):
            await work()
