"""Decides what may be shown of addresses, keys and environments; the only place that does.

Whatever is configured with a secret keeps a `Secrets`. Each text and each error about it passes through that before it
leaves the package: a secret is replaced by where it was configured, such as `[api_key]`. An address is shown as
`shown_url` writes it. Functions named `in_…` find the secrets of one kind of configuration.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, cast
from weakref import ReferenceType, ref

from ..errors import ArgumentError, ConfigError, Portable

Found = tuple[str, str]
"""A text that must not be shown, and what is shown in its place."""

_SHORTEST_KEY = 4
"""Characters of the shortest key that is replaced: a shorter one would be found in the middle of everything."""

_PLACEHOLDERS = frozenset(
    {
        *("ollama", "empty", "lm-studio", "sk-no-key-required", "token-abc123", "not-needed"),
        *("none", "null", "dummy", "fake", "test", "unused", "local"),
    }
)
"""What the documentation of servers without keys gives as the key, which clients of others insist on."""

_SHORTEST = 8
"""Characters of the shortest value that is replaced if nothing says that it is a key."""

# Regular expressions are compiled when they are first used, and what is seldom needed is imported then: the address and
# the key of every model come by here, and most have nothing special.

_KEY_WORDS = (
    *("key", "token", "secret", "passw", "pwd", "auth", "credential", "cookie", "signature"),
    *("dsn", "private"),
)

_PUBLIC_HEADERS = frozenset(
    {"accept", "connection", "content-type", "user-agent", "anthropic-version", "anthropic-beta"}
)
"""Headers that the clients of services send for themselves, next to those that begin with `_PUBLIC_BEGINNINGS`."""

_PUBLIC_BEGINNINGS = ("accept-", "x-stainless-")

_OF_NAMED_VALUES = frozenset(
    {"env", "env_vars", "headers", "extra_headers", "default_headers", "extra_query"}
)
"""Names of settings whose values are names and values in turn, any of which may be secret."""

_PUBLIC_PARTS = frozenset(
    {
        *("v1", "api", "openai", "anthropic", "mcp", "sse", "chat", "completions", "messages"),
        *("models", "inference", "compatible-mode", "paas", "engines", "deployments"),
        "serving-endpoints",
    }
)
"""Parts of a path that are the same for every user of a service, as any version is. Any other part may be a key."""

_PACKAGE = r"@[\w.-]+/[\w.-]+"
"""An argument that names a package of npm, perhaps with a version after it."""

_VERBOSE_LOGGERS = (
    "httpx",
    "httpx2",
    *(
        f"{package}.{part}"
        for package in ("httpcore", "httpcore2")
        for part in ("connection", "http11", "http2", "proxy", "socks")
    ),
    "anthropic._base_client",
    "openai._base_client",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
)
"""Loggers of the clients that this package uses, which write addresses and errors as they are."""


class CleanedError(Portable):
    """Takes the place of an error whose text, or the text of an error that led to it, had a secret.

    Numbers among the error's attributes, such as its status, are attributes of this one too.

    Attributes:
        kind: the class of that error.
    """

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


_QUOTED_VALUE = r"(?s)input_value=.*?(?=, input_type=|$)"
"""A value that pydantic refuses. It quotes the value with its middle left out, so a secret may be there in part."""


class Secrets:
    """Texts that must not be shown.

    As long as one exists, its texts are also kept out of the log records of the HTTP clients and SDKs.

    Args:
        found: what the functions `in_…` and `key` found.
    """

    def __init__(self, *found: Iterable[Found]) -> None:
        self._shown = dict(written(each for some in found for each in some))
        if self._shown:
            _guard_logs(self)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._shown, key=len, reverse=True)
        return re.compile("|".join(map(_pattern_of, longest_first)))

    @property
    def longest(self) -> int:
        """How many characters the longest of them has."""
        return max(map(len, self._shown), default=0)

    def hide(self, text: str) -> str:
        """Replace each of them in a text by where it was configured. Hide before a text is cut, not after."""
        if not self._shown:
            return text
        hidden = self._pattern.sub(lambda match: self._shown[match[0]], text)
        return (
            re.sub(_QUOTED_VALUE, "input_value=…", hidden) if "input_value=" in hidden else hidden
        )

    def clean(self, error: Exception) -> Exception:
        """The error itself; or a `CleanedError`, if its traceback, `repr` or attributes would show one of them."""
        if not self._shows(error):
            return error
        cleaned = CleanedError(self.hide(str(error)), type(error).__qualname__)
        for name in ("code", "status_code", "errno"):
            if isinstance(value := getattr(error, name, None), int):
                setattr(cleaned, name, value)
        return cleaned

    def _shows(self, error: Exception) -> bool:
        if not self._shown:
            return False
        chain = traceback.TracebackException.from_exception(error, limit=0)
        texts = [*chain.format(), *map(repr, _chain(error)), *map(_kept_in, _chain(error))]
        return any(self._pattern.search(text) or "input_value=" in text for text in texts)


def _kept_in(error: BaseException) -> str:
    """What an error keeps of an answer: its attributes, and the headers of its response."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    with suppress(Exception):  # code of others
        return repr((vars(error), [*headers.items()] if headers is not None else ()))
    return ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and all that led to it."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += filter(None, (each.__cause__, each.__context__))
        if isinstance(each, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", each).exceptions


def written(found: Iterable[Found]) -> list[Found]:
    """Each secret in all the forms in which it may be written, with what is shown in its place."""
    shown: dict[str, str] = {}
    for text, instead in found:
        for form in _forms(text):
            if form != instead:
                shown.setdefault(form, instead)
    return [*shown.items()]


def _forms(text: str) -> Iterator[str]:
    """A secret as it is, and as others write it: in an address, in JSON, in Python, line by line."""
    text = text.strip()
    if len(text) < _SHORTEST_KEY:
        return
    yield text
    quoted = "".join(_AS_IN_ADDRESS.get(byte) or f"%{byte:02X}" for byte in text.encode())
    yield quoted
    yield quoted.replace("%20", "+")
    yield json.dumps(text)[1:-1]
    yield repr(text)[1:-1]
    for line in map(str.strip, text.splitlines()):
        if len(line) >= _SHORTEST:
            yield line


_AS_IN_ADDRESS = {
    byte: chr(byte) for byte in range(128) if chr(byte).isalnum() or chr(byte) in "_.-~"
}
"""What an address has as it is; it has any other byte as a number."""


def _pattern_of(text: str) -> str:
    escaped = re.escape(text)
    return escaped if len(text) >= _SHORTEST else rf"(?<!\w){escaped}(?!\w)"


# Where secrets are.


def key(label: str, text: object) -> Iterator[Found]:
    """A text that is secret whatever it is, such as a key or a password; but a placeholder, which is known to all.

    Args:
        label: where it was configured.
        text: anything but text is ignored.
    """
    if isinstance(text, str) and text.strip().lower() not in _PLACEHOLDERS:
        yield text, f"[{label}]"


def named(label: str, name: str, value: object) -> Iterator[Found]:
    """A value that is secret if its name says so, or if it is long and not a file here."""
    if not isinstance(value, str):
        return
    if "://" in value:
        yield from in_url(value)
    elif _names_a_key(name) or (len(value) >= _SHORTEST and not _is_path(value)):
        yield from key(label, value)


def _names_a_key(name: str) -> bool:
    name = name.lower()
    is_signature = "sig" in name and re.search(r"\bsig\b", name) is not None
    return is_signature or any(word in name for word in _KEY_WORDS)


def in_url(url: str) -> Iterator[Found]:
    """User, password, the values of the query, and parts of the path that not every user of the service has."""
    yield url, shown_url(url)
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "", url
    userinfo = _cut(rest, "/?#")[0].rpartition("@")[0]
    if userinfo:
        from base64 import b64encode
        from urllib.parse import unquote

        user, _, password = userinfo.partition(":")
        yield userinfo, "[user and password]"
        for each in {unquote(userinfo), userinfo}:
            yield b64encode(each.encode(errors="replace")).decode(), "[user and password]"
        for text in {password, unquote(password)}:
            yield from key("password", text)
        for text in {user, unquote(user)}:
            yield from named("user", "" if password else "key", text)
    target, _, fragment = _cut(rest, "/?#")[1].partition("#")
    path, _, query = target.partition("?")
    if query:
        from urllib.parse import parse_qsl

        for name, value in parse_qsl(query):
            yield from named(f"query {name}", name, value)
        for value in query.replace("=", "&").split("&"):  # as it is written there
            yield from named("query", "", value)
    yield from named("fragment", "key", fragment)
    for part in filter(None, path.split("/")):
        if scheme in ("http", "https") and not _is_public(part):
            from urllib.parse import unquote

            yield from named("part of the path", "", part)
            yield from named("part of the path", "", unquote(part))
    if scheme in ("http", "https") and len(target) >= _SHORTEST and _path_of(target) != target:
        yield target, _path_of(target)


def in_headers(headers: Mapping[str, Any]) -> Iterator[Found]:
    """The values of headers, whole and without a scheme such as `Bearer`."""
    for name, value in headers.items():
        lower = name.lower()
        is_public = lower in _PUBLIC_HEADERS or lower.startswith(_PUBLIC_BEGINNINGS)
        if is_public or not isinstance(value, str):
            continue
        yield from named(f"header {name}", name, value)
        scheme, _, rest = value.partition(" ")
        if rest and scheme.isalpha():
            yield from named(f"header {name}", name, rest)


def in_environment(variables: Mapping[str, str]) -> Iterator[Found]:
    """The values of environment variables."""
    for name, value in variables.items():
        yield from named(f"environment variable {name}", name, value)


def in_arguments(arguments: Sequence[str], folder: str | None = None) -> Iterator[Found]:
    """The arguments of a program: any that is not an option's name, and not a file.

    Args:
        arguments: without the program's name.
        folder: where the program runs, for relative paths.
    """
    option = ""
    for number, argument in enumerate(arguments, 1):
        label = f"argument {number}"
        is_option = argument.startswith("-")
        name, _, value = argument.partition("=") if is_option else (option, "", argument)
        if option != "-m" and not re.match(_PACKAGE, value) and not _is_path(value, folder):
            yield from named(label, name, value)
        if is_option and not argument.startswith("--"):
            yield from named(label, "", argument[2:])  # as in -pPASSWORD
        if is_option and _names_a_key(option):
            yield from key(label, argument)
        option = argument if is_option and not value else ""


def in_settings(settings: Mapping[str, Any], label: str = "setting") -> Iterator[Found]:
    """Values at any depth whose names say that they are secret, and all headers and environment variables."""
    for name, value in settings.items():
        if isinstance(value, list | tuple):
            for each in cast("Sequence[Any]", value):
                yield from in_settings({name: each}, label)
        elif isinstance(value, Mapping):
            inner = cast("Mapping[str, Any]", value)
            if name in _OF_NAMED_VALUES:
                for each, text in inner.items():
                    yield from in_headers({f"{each}": text})
            else:
                yield from in_settings(inner, label)
        elif isinstance(value, str) and (_names_a_key(str(name)) or "://" in value):
            yield from named(f"{label} {name}", str(name), value)


_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def proxies() -> dict[str, str]:
    """The addresses of proxies that the environment names, by their variables.

    If one is named in small letters and in capitals, clients differ in which they use.
    """
    return {name: value for name in _PROXIES if (value := os.environ.get(name))}


def in_proxies() -> Iterator[Found]:
    """Users and passwords of the proxies that the environment names."""
    for proxy in proxies().values():
        yield from in_url(proxy)


def _is_path(text: str, folder: str | None = None) -> bool:
    try:
        return os.path.exists(os.path.join(folder or "", text))  # noqa: PTH110, PTH118
    except ValueError:  # no path can have these characters
        return False


# Addresses.


def _cut(text: str, marks: str) -> tuple[str, str]:
    """The text before the first of these marks, and from there on."""
    at = min((at for mark in marks if (at := text.find(mark)) >= 0), default=len(text))
    return text[:at], text[at:]


def _is_public(part: str) -> bool:
    return part in _PUBLIC_PARTS or re.fullmatch(r"v\d+((alpha|beta)\d*)?", part) is not None


def shown_url(url: str) -> str:
    """An address as it may be shown: without user, password and query, and without parts of its path that may be keys.

    >>> shown_url("https://ada:pass@example.com/k-12345/mcp?key=abc")
    'https://example.com/…/mcp?…'
    """
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "", url
    authority, path = _cut(rest, "/?#\\")
    host = authority.rpartition("@")[2]
    if "@" in path:
        host = host.partition(":")[
            0
        ]  # what seems to be the port may be the beginning of a password
    return " ".join(f"{scheme}{mark}{host}{_path_of(path)}".split())


def _path_of(target: str) -> str:
    """The path of an address as it may be shown, with a mark for its query."""
    path, query = _cut(target, "?#")
    shown: list[str] = []
    for part in path.split("/"):
        if not part or _is_public(part):
            shown.append(part)
        elif shown[-1:] != ["…"]:
            shown.append("…")
    return "/".join(shown) + ("?…" if query[1:] else "")


def check_url(what: str, url: Any) -> None:
    """Refuse text that is not the address of a web server. The message does not repeat it, since it may hold a key.

    Args:
        what: the name of the argument.
        url: the address.

    Raises:
        ArgumentError: it is not a `str`.
        ConfigError: the text does not begin with `http://` or `https://` and a host, or its port is not a number.
    """
    if not isinstance(url, str):
        raise ArgumentError(
            f"{what} must be an address (a str), got a value of type {type(url).__name__}"
        )
    if any(character.isspace() or not character.isprintable() for character in url):
        raise ConfigError(f"{what} must be an address on one line, without spaces, but is not")
    if _is_plain(url):
        return
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        raise ConfigError(
            f"{what} has an invalid host or port; in a user or a password, "
            "write @ : / ? # [ ] % as %40 %3A %2F %3F %23 %5B %5D %25"
        ) from None
    if not is_address:
        raise ConfigError(
            f"{what} must begin with http:// or https:// and a host, but does not; "
            "write it as in http://localhost:8080/v1"
        )


def host_of(url: str) -> str:
    """The host of an address that `check_url` accepts, without the brackets of a number."""
    host = _cut(url.partition("://")[2], "/?#\\")[0].rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_plain(url: str) -> bool:
    """Whether it is the address of a server with a simple name or number, as most are; `urllib.parse` reads others."""
    scheme, _, rest = url.partition("://")
    name, mark, port = _cut(rest, "/?#")[0].partition(":")
    is_name = name.isascii() and name.replace(".", "").replace("-", "").isalnum()
    is_number = port.isascii() and port.isdecimal() and len(port) <= 5
    is_port = not mark or (is_number and int(port) < 2**16)
    return scheme in ("http", "https") and is_name and is_port


# Log records of others.

_guarded: tuple[ReferenceType[Secrets], ...] = ()
_adding = threading.Lock()


class _Guard(logging.Filter):
    """Hides every secret that is in use in the records of a logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            text = hidden = record.getMessage()
        except Exception:  # the logger's own mistake, which its handlers report
            return True
        for secrets in filter(None, (each() for each in _guarded)):
            hidden = secrets.hide(hidden)
            if record.exc_info and isinstance(error := record.exc_info[1], Exception):
                cleaned = secrets.clean(error)
                if cleaned is not error:
                    record.exc_info = (type(cleaned), cleaned, None)
        if hidden != text:
            record.msg, record.args = hidden, ()
        return True


_GUARD = _Guard()


def _guard_logs(secrets: Secrets) -> None:
    global _guarded
    with _adding:
        _guarded = (*(each for each in _guarded if each() is not None), ref(secrets))
    for name in _VERBOSE_LOGGERS:
        logging.getLogger(name).addFilter(_GUARD)  # adds it once


NO_SECRETS = Secrets()
