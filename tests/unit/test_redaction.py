"""What is shown of addresses, keys and environments, and what takes the place of a secret in a text or an error."""

from __future__ import annotations

import logging
import pickle
import traceback
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

import pytest

from cogency_rs.errors import ConfigError
from cogency_rs.guards.secrets import (
    CleanedError,
    Secrets,
    check_url,
    host_of,
    in_arguments,
    in_environment,
    in_headers,
    in_proxies,
    in_settings,
    in_url,
    key,
    shown_url,
)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("http://localhost:11434/v1/", "http://localhost:11434/v1/"),
        ("http://[::1]:8000/v1beta/openai", "http://[::1]:8000/v1beta/openai"),
        ("https://ada:s3cret@a.example/mcp", "https://a.example/mcp"),
        ("https://s3cret@a.example", "https://a.example"),
        ("https://a.example/mcp?key=s3cret", "https://a.example/mcp?…"),
        ("https://a.example/mcp#s3cret", "https://a.example/mcp?…"),
        ("https://a.example/s3cret/mcp", "https://a.example/…/mcp"),
        ("https://a.example/s3cret/s4cret/mcp/", "https://a.example/…/mcp/"),
        ("https://a.example/v1/s3cret", "https://a.example/v1/…"),
        ("https://ada:12/s3cret@a.example:80/mcp", "https://ada/…/mcp"),
        ("ray://ada:s3cret@head:10001", "ray://head:10001"),
        ("ada:s3cret@head:6379", "head:6379"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url, shown):
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("found", "text", "shown"),
    [
        (key("api_key", "sk-12345"), "Incorrect key: sk-12345.", "Incorrect key: [api_key]."),
        (key("api_key", "abcd"), "abcd is not abcdef", "[api_key] is not abcdef"),
        (key("api_key", "k"), "a key of k", "a key of k"),
        (key("api_key", None), "None", "None"),
        (key("api_key", "ollama"), "ollama at http://ollama/v1", "ollama at http://ollama/v1"),
        (in_headers({"X-Key": "EMPTY"}), "the queue is EMPTY", "the queue is EMPTY"),
        (key("api_key", " sk-12345\n"), r"b'Bearer sk-12345\n'", r"b'Bearer [api_key]\n'"),
        (key("password", "p&ss w/rd"), "a p%26ss%20w%2Frd b", "a [password] b"),
        (key("password", 'p"ss"word'), r'{"a": "p\"ss\"word"}', '{"a": "[password]"}'),
        (key("pem", "--begin--\nAAAABBBB\n"), "bad line AAAABBBB", "bad line [pem]"),
        (in_url("http://u/v1?key=s3cret"), "404 for /v1?key=s3cret", "404 for /v1?…"),
        (in_url("http://a:s3cret@u/v1"), "no http://a:s3cret@u/v1", "no http://u/v1"),
        (in_url("http://u/s3cret-a"), "no route to s3cret-a", "no route to [part of the path]"),
        (in_url("http://u/v1"), "http://u/v1 failed", "http://u/v1 failed"),
        (in_url("http://a:s3cret@u/"), "Basic YTpzM2NyZXQ=", "Basic [user and password]"),
        (
            in_headers({"Authorization": "Bearer s3cret"}),
            "not s3cret",
            "not [header Authorization]",
        ),
        (
            in_headers({"X-Team": "s3cret-team", "Accept": "a/b"}),
            "a/b of s3cret-team",
            "a/b of [header X-Team]",
        ),
        (
            in_environment({"TOKEN": "s3cret", "MODE": "test"}),
            "s3cret in test",
            "[environment variable TOKEN] in test",
        ),
        (
            in_environment({"DB": "postgresql://ada:s3cret@db/notes"}),
            "postgresql://ada:s3cret@db/notes: s3cret",
            "postgresql://db/…: [password]",
        ),
        (in_arguments(["--key", "s3cret"]), "s3cret", "[argument 2]"),
        (in_arguments(["--key=s3cret"]), "no s3cret", "no [argument 1]"),
        (in_arguments(["-ps3cret-a"]), "no s3cret-a", "no [argument 1]"),
        (in_arguments(["--key", "-s3cret"]), "no -s3cret", "no [argument 2]"),
        (in_arguments(["--port", "8000"]), "port 8000 is taken", "port 8000 is taken"),
        (in_arguments(["-y", "@a/server-b"]), "no package @a/server-b", "no package @a/server-b"),
        (in_arguments(["-m", "server_of_b"]), "no module server_of_b", "no module server_of_b"),
        (
            in_settings({"extra_headers": {"x-key": "s3cret"}, "top_k": 5}),
            "s3cret 5",
            "[header x-key] 5",
        ),
        (in_settings({"user": {"api_token": "s3cret"}}), "s3cret", "[setting api_token]"),
    ],
)
def test_a_secret_is_replaced_by_where_it_was_configured(found, text, shown):
    assert Secrets(found).hide(text) == shown


def test_an_argument_that_is_a_file_stays_readable(tmp_path):
    folder = tmp_path / "a folder of notes"
    folder.mkdir()
    assert Secrets(in_arguments([str(folder)])).hide(f"no {folder}/a") == f"no {folder}/a"
    assert Secrets(in_arguments([folder.name], str(tmp_path))).hide(folder.name) == folder.name


def test_the_password_of_a_proxy_is_a_secret(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:s3cret@proxy:3128")
    monkeypatch.setenv("https_proxy", "http://ada:another@proxy:3128")
    hidden = Secrets(in_proxies()).hide("407 for s3cret, 407 for another")
    assert hidden == "407 for [password], 407 for [password]"


# Errors


SECRETS = Secrets(key("api_key", "s3cret-key"))


class StatusError(Exception):
    status_code = 401


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except Exception as error:
        return error


def noted() -> Exception:
    error = ValueError("it")
    error.add_note("of s3cret-key")
    return error


@pytest.mark.parametrize(
    "error",
    [
        StatusError("no s3cret-key here"),
        raised(ValueError("it failed"), KeyError("s3cret-key")),
        ExceptionGroup("two", [ValueError("s3cret-key")]),
        UnicodeDecodeError("utf-8", b"s3cret-key\xff", 10, 11, "invalid"),
        noted(),
    ],
    ids=["its text", "its cause", "one of a group", "its repr", "its note"],
)
def test_an_error_that_would_show_a_secret_is_replaced_by_one_of_its_text(error):
    cleaned = SECRETS.clean(error)
    assert type(cleaned) is CleanedError
    assert cleaned.kind == type(error).__qualname__
    text = "".join(traceback.format_exception(cleaned)) + repr(cleaned)
    assert "s3cret-key" not in text


def test_the_error_that_replaces_another_has_its_numbers_and_can_be_sent_to_another_process():
    cleaned: Any = SECRETS.clean(StatusError("no s3cret-key"))
    copied = pickle.loads(pickle.dumps(cleaned))
    assert (str(copied), copied.kind, copied.status_code) == ("no [api_key]", "StatusError", 401)


def test_any_other_error_stays_itself():
    error = raised(ValueError("it failed"), KeyError("x"))
    assert SECRETS.clean(error) is error


# Log records of the clients


def test_a_client_s_log_shows_no_secret_while_its_owner_is_in_use(caplog):
    logger = logging.getLogger("httpx")
    caplog.set_level(logging.INFO, "httpx")
    url = "http://a:s3cret@u/v1?key=s4cret"
    secrets = Secrets(in_url(url))
    logger.info("HTTP Request: %s %s", "POST", url)
    try:
        raise ValueError(url)
    except ValueError:
        logger.exception("it failed")
    del secrets
    assert "s3cret" not in caplog.text
    assert "s4cret" not in caplog.text
    assert "HTTP Request: POST http://u/v1?…" in caplog.text


# Addresses that are refused


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3cret", "base_url must begin with http:// or https:// and a host, but does not"),
        ("ftp://s3cret", "base_url must begin with http://"),
        ("http://", "base_url must begin with http://"),
        (["s3cret"], "base_url must be an address (a str), got a value of type list"),
        ("http://ada:s3/cret@host", "an invalid host or port; in a user or a password"),
        ("http://[s3cret", "an invalid host or port"),
        ("http://s3cret:65536", "an invalid host or port"),
        (f"http://s3cret:{'9' * 5_000}", "an invalid host or port"),
        ("http://host\\[s3cret", "an invalid host or port"),
    ],
)
def test_text_that_is_not_an_address_is_refused_and_not_repeated(url, words):
    with pytest.raises(ConfigError) as error:
        check_url("base_url", url)
    assert words in str(error.value)
    assert "s3" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize("text", ["plain-key_1.~", "pass word/1", "über+100%", "a=b&c@d"])
def test_a_secret_is_found_as_addresses_write_it(text):
    for form in (quote(text, safe=""), quote_plus(text)):
        assert Secrets(key("label", text)).hide(f"<{form}>") == "<[label]>"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://LocalHost:80/v1", "localhost"),
        ("https://ada:pass@example.com?a=b@c", "example.com"),
        ("http://[::1]:8080/v1", "::1"),
        ("http://127.0.0.1#x", "127.0.0.1"),
    ],
)
def test_the_host_of_an_address(url, host):
    assert host_of(url) == host == urlsplit(url).hostname
