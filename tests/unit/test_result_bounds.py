"""`max_result_chars`: how much the model sees of a result, and what it is told about the rest."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

import pytest
from hypothesis import given, strategies as st

from cogency_rs import History, SQLite, assemble, tool
from cogency_rs._core import Folding, FoldOptions
from cogency_rs.context import to_messages
from cogency_rs.errors import ArgumentError, ConfigError
from support.conversations import called, result
from support.cost import is_linear


def shown(stored: str, **options: Any) -> str:
    """The text between the tags of the message that shows a stored result."""
    folding = Folding(FoldOptions(**options))
    folding.extend([called(), result(stored)])
    text: str = folding.messages()[1]["content"]
    return text.removeprefix("<results>\n").removesuffix("\n</results>")


def notice(missing: int, total: int) -> str:
    return f"\n[… {missing:,} of {total:,} characters are not shown]"


def cut(content: Any, most: int) -> Any:
    """A content with at most this many characters: the naive reference."""
    text = content if isinstance(content, str) else json.dumps(content)
    if len(text) <= most:
        return content
    return text[:most] + notice(len(text) - most, len(text))


values = st.recursive(
    st.one_of(st.text(max_size=30), st.integers(), st.booleans(), st.none(), st.floats()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
texts = st.text(st.characters(codec=None), max_size=40)  # lone surrogates too
items = st.fixed_dictionaries(
    {"tool": st.sampled_from(["a", "b", "é"]), "status": st.just("success")},
    optional={"outcome": st.text(max_size=40), "content": st.one_of(texts, values), "more": values},
)
bounds = st.integers(1, 40)


@given(st.lists(items, min_size=1, max_size=4), bounds, st.booleans(), st.booleans())
def test_only_text_that_is_too_long_is_cut(array, most, ensure_ascii, escape_tags):
    stored = json.dumps(array, ensure_ascii=ensure_ascii)
    found = json.loads(shown(stored, max_result_chars=most, escape_tags=escape_tags))
    assert len(found) == len(array)
    for item, before in zip(found, array, strict=True):
        content = before.get("content")
        if isinstance(content, str):
            before = {**before, "content": cut(content, most)}
        if isinstance(content, str) or len(json.dumps(content)) <= most // 6:
            assert repr(item) == repr(before)


@given(values.filter(lambda value: not isinstance(value, str)), bounds)
def test_a_value_that_is_cut_becomes_text(value, most):
    [item] = json.loads(shown(json.dumps([{"content": value}]), max_result_chars=most))
    text = json.dumps(value)
    is_literal = isinstance(value, bool | None) or text in {"NaN", "Infinity", "-Infinity"}
    if len(text) <= most or is_literal:  # a literal is never cut
        assert repr(item["content"]) == repr(value)
        return
    begins, missing, total = re.fullmatch(
        r"(.*)\n\[… ([\d,]+) of ([\d,]+) characters are not shown\]", item["content"], re.DOTALL
    ).groups()
    assert text.startswith(begins)
    assert most - 12 < len(begins) <= most, "more than an escape is missing"
    assert int(total.replace(",", "")) == len(text)
    assert int(missing.replace(",", "")) == len(text) - len(begins)


@given(st.text(max_size=60), bounds)
def test_a_stored_result_that_is_not_an_array_is_cut_as_text(stored, most):
    if not stored:
        return
    try:
        is_array = isinstance(json.loads(stored), list)
    except ValueError:
        is_array = False
    if not is_array:
        assert shown(stored, max_result_chars=most) == cut(stored, most)


def test_a_tool_s_own_bound_goes_before_the_general_one_whether_lower_or_higher():
    array = [{"tool": name, "content": "x" * 20} for name in ("short", "long", "any")]
    found = json.loads(
        shown(json.dumps(array), max_result_chars=10, tool_result_chars={"short": 5, "long": 99})
    )
    assert [item["content"] for item in found] == [cut("x" * 20, most) for most in (5, 99, 10)]


def test_a_large_result_is_cut_in_linear_time():
    def cut_result(lines: int) -> None:
        shown(json.dumps([{"tool": "t", "content": "é\n" * lines}]), max_result_chars=lines // 25)

    assert is_linear(cut_result, 2_500_000)


def test_a_large_result_is_cut():
    stored = json.dumps([{"tool": "t", "status": "success", "content": "é\n" * 2_500_000}])
    found = shown(stored, max_result_chars=100_000)
    assert len(found) < 100_000 * 5
    [item] = json.loads(found)
    assert item["content"].endswith(notice(4_900_000, 5_000_000))


def test_equal_options_are_equal_and_have_one_hash():
    options = {"escape_tags": True, "max_result_chars": 5, "tool_result_chars": {"a": 1, "b": 2}}
    reordered = {**options, "tool_result_chars": {"b": 2, "a": 1}}
    assert FoldOptions(**options) == FoldOptions(**reordered)
    assert hash(FoldOptions(**options)) == hash(FoldOptions(**reordered))
    others = [{"max_result_chars": 6}, {"tool_result_chars": {"a": 1}}, {"rules": "installed"}]
    assert all(FoldOptions(**options) != FoldOptions(**options | other) for other in others)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rules": "cogency"}, ConfigError),
        ({"form": "prose"}, ConfigError),
        ({"max_result_chars": -1}, ConfigError),
        ({"tool_result_chars": {5: 1}}, ArgumentError),
        ({"tool_result_chars": {"a": None}}, ArgumentError),
    ],
)
def test_wrong_options_are_refused(options, error):
    with pytest.raises(error):
        FoldOptions(**options)


# In a prompt


@tool
def brief() -> str:
    """Return much text. Only a little of it is shown."""
    return ""


@tool
def other() -> str:
    """Return much."""
    return ""


class Listed:
    name = "listed"
    description = "A tool that is a class."
    schema: ClassVar[dict[str, Any]] = {}

    async def execute(self) -> None: ...


@pytest.fixture
async def storage(tmp_path):
    array = [{"tool": name, "content": "x" * 100_001} for name in ("brief", "listed", "other")]
    async with SQLite(tmp_path / "store.db") as storage:
        for row in (called("brief"), called("listed"), called("other"), result(json.dumps(array))):
            await storage.save_message("c", "u", row["type"], row["content"])
        yield storage


async def contents(storage, **options: Any) -> list[str]:
    messages = await assemble("u", "c", storage=storage, **options)
    text = messages[-1]["content"].removeprefix("<results>").removesuffix("</results>")
    return [item["content"] for item in json.loads(text)]


@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize(
    ("most", "bounds"),
    [(..., [5, 7, 100_000]), (3, [5, 7, 3]), (None, [5, 7, 10**9])],
)
async def test_a_prompt_keeps_the_bounds_of_the_history_and_the_tools(
    storage, window, most, bounds
):
    chars = {} if most is ... else {"max_result_chars": most}
    single = {"brief": 5, "listed": 7}
    history = History(window=window, tool_result_chars=single, **chars)
    found = await contents(storage, tools=[brief, Listed(), other], history=history)
    assert found == [cut("x" * 100_001, most) for most in bounds]


async def test_prompts_with_different_bounds_may_alternate(storage):
    for most in (10, 20, 10, None):
        found = await contents(storage, tools=[], history=History(max_result_chars=most))
        assert found == [cut("x" * 100_001, most or 10**9)] * 3


async def test_the_log_keeps_a_result_whole(storage):
    *_, row = await storage.load_messages("c", "u")
    assert len(row["content"]) > 300_000
    assert to_messages([called(), row])[1]["content"] == f"<results>\n{row['content']}\n</results>"


@pytest.mark.parametrize("most", [0, -1, 1.5, "5", True])
def test_a_tool_s_bound_is_a_whole_number_from_1_on(most):
    with pytest.raises(
        ConfigError, match=r"tool_result_chars of 'read' must be a whole number of at least"
    ):
        History(tool_result_chars={"read": most})
