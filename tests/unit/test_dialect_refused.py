"""What is not a dialect is refused in one clear error, whatever Python value it is."""

import pytest

from cogency_rs import Dialect
from cogency_rs.errors import ConfigError


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def itself():
    value = {}
    value["stop"] = value
    return value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stop": {"<a>"}}, "Object of type set is not JSON serializable"),
        ({"stop": [b"<a>"]}, "Object of type bytes is not JSON serializable"),
        ({"models": float("nan")}, "expected value"),
        ({"models": "\ud800"}, "surrogate|unexpected end of hex escape"),
        ({"stop": nested(100_000)}, "recursion|nested|recursive"),
        ({"stop": [10**5000]}, "digits|number|string"),
        (itself(), "Circular reference detected"),
    ],
    ids=["set", "bytes", "nan", "surrogate", "depth", "large", "circle"],
)
def test_what_json_cannot_hold_is_no_dialect(change, message):
    fields = {**Dialect("hermes").to_dict(), **change}
    with pytest.raises(ConfigError, match=f"^this is not a dialect: .*({message})"):
        Dialect.from_dict(fields)
    with pytest.raises(ConfigError, match=f"^this is not a template: .*({message})"):
        Dialect.from_response_template({"fields": {}, **change})


@pytest.mark.parametrize("fields", [None, 5, "hermes", [("name", "x")], Dialect("hermes")])
def test_only_a_dict_is_a_dialect(fields):
    with pytest.raises(TypeError, match="fields must be a dict, as to_dict"):
        Dialect.from_dict(fields)


def test_what_would_end_the_process_is_refused():
    fields = Dialect("kimi-k2").to_dict()
    fields["calls"][0]["ids"] = {"count": 10**9}
    with pytest.raises(ConfigError, match=r"calls\[0\]\.ids\.count: must be at most 64"):
        Dialect.from_dict(fields)
    fields = Dialect("muse").to_dict()
    fields["heads"]["end"] = ""
    with pytest.raises(ConfigError, match=r"heads\.end: must not be empty"):
        Dialect.from_dict(fields)
