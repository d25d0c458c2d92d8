"""`cogency-rs dialects`: the list of dialects, and the description of one."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs import Dialect, Parser
from cogency_rs.cli.dialects import EXAMPLE, MODELS, facts

PRESETS = Dialect.presets()


def test_all_are_listed_with_their_models_and_the_beginning_of_a_call(command):
    ended = command("dialects")
    assert (ended.code, ended.err) == (0, "")
    first, *lines = ended.out.splitlines()
    assert first == f"{len(PRESETS)} dialects; give a NAME for more about one"
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == PRESETS
    flat = " ".join(ended.out.split())
    for name in PRESETS:
        dialect = Dialect(name)
        example = " ".join(dialect.write_calls([EXAMPLE]).split())
        assert f"{name} {dialect.models or MODELS} {example[:40]}" in flat
    assert max(map(len, lines)) <= 80


def test_the_list_as_json_has_a_line_of_fields_for_each_dialect(command):
    assert command("dialects", "--json").objects == [Dialect(name).to_dict() for name in PRESETS]


@pytest.mark.parametrize("name", PRESETS)
def test_a_dialect_as_json_is_its_fields(command, name):
    ended = command("dialects", name, "--json")
    assert (ended.objects, ended.code) == ([Dialect(name).to_dict()], 0)


@pytest.mark.parametrize("name", PRESETS)
def test_the_call_that_is_shown_for_a_dialect_is_read_as_that_call(command, name):
    out = command("dialects", name).out
    first, _, shown = out.partition("\na call     ")
    assert first.splitlines()[0] == name
    text = "\n".join(line.removeprefix(" " * 11) for line in shown.splitlines())
    parser = Parser(dialect=name, tools=[READ], errors="event")
    events = [*parser.feed(text), *parser.finish("stop")]
    assert [event["type"] for event in events if event["type"] != "end"] == ["call", "execute"]
    read = json.loads(events[0]["content"])
    assert (read["name"], read["args"]) == (EXAMPLE.name, EXAMPLE.args)


READ = {
    "name": "read",
    "parameters": {"properties": {"file": {"type": "string"}, "lines": {"type": "integer"}}},
}


@pytest.mark.parametrize("name", PRESETS)
def test_the_description_of_a_dialect_names_its_marks(command, name):
    printed = " ".join(command("dialects", name).out.split())
    fields = Dialect(name).to_dict()
    marks = [
        *Dialect(name).call_marks()[0],
        *fields["stop"],
        *fields["ignored"],
        *fields["turn_end"],
    ]
    marks += [
        mark for pair in (*fields["reasoning"], *fields["answer"]) for mark in pair.split("{}")
    ]
    shown = [" ".join(mark.lstrip("\n").split()) for mark in marks]
    assert [mark for mark in shown if mark not in printed] == []


@pytest.mark.parametrize(
    ("name", "label", "expected"),
    [
        ("cogency", "models", "any model that is shown how"),
        ("harmony", "models", "gpt-oss"),
        ("granite", "opened by", "<|tool_call|> or <tool_call>"),
        ("llama3-json", "opened by", "<|python_tag|> or nothing, at the start of the answer"),
        ("json-plain", "opened by", "nothing, anywhere in the answer"),
        ("minimax-m2", "opened by", '<minimax:tool_call> or <invoke name="'),
        ("react", "opened by", "at the start of a line Action:"),
        ("harmony", "opened by", "a message with to=functions.NAME"),
        (
            "muse-glimmer",
            "opened by",
            "in a message with to=NAME: <atem:function_calls> or <atem:invoke",
        ),
        ("hermes", "reasoning", "<think> … </think>"),
        ("react", "reasoning", "Thought: … (up to the next mark)"),
        ("harmony", "reasoning", "messages of analysis"),
        ("react-json", "reasoning", "<think> … </think> and the key thought"),
        ("json-plain", "reasoning", "<think> … </think>"),
        ("llama3-json", "reasoning", "not marked"),
        ("hermes", "values", "JSON"),
        ("kimi-k2", "values", "JSON"),
        ("lfm2", "values", "Python literals; true, false and null too"),
        ("react", "values", "a JSON object, or one text: the tool's only parameter, or input"),
        (
            "functiongemma",
            "values",
            "text between two <escape>; else by the tool's schema; without one, JSON",
        ),
        (
            "deepseek-v4-dsml",
            "values",
            'by the tool\'s schema; without one, text where string="true", else JSON',
        ),
        ("qwen3-coder", "values", "by the tool's schema; without one, text"),
        (
            "muse-glimmer",
            "values",
            "by the tool's schema; without one, JSON if it is valid JSON, else text",
        ),
        (
            "forge-xml",
            "values",
            "by the tool's schema; without one, numbers, true, false and null as such, else text",
        ),
        ("cogency", "run", "at once, after the first block; nothing after it is read"),
        ("hermes", "run", "when the answer ends; all its calls are one batch"),
        ("cogency", "stop at", "<results>"),
        ("react", "stop at", "\\nObservation:"),
        ("json-plain", "stop at", "<tool_response>"),
        ("forge-xml", "stop at", "nothing"),
        ("cogency", "left out", "<results> … </results>"),
    ],
)
def test_each_line_of_the_description_of_a_dialect(command, name, label, expected):
    assert facts(Dialect(name))[label] == expected
    assert f"{label:<11}{expected[:50]}" in command("dialects", name).out


def test_a_field_that_a_dialect_lacks_is_not_shown(command):
    assert "left out" not in command("dialects", "json-plain").out


def test_a_dialect_that_is_not_a_preset_can_be_described():
    hermes = Dialect("hermes")
    own = hermes.replace(name="own", models="", begins_in_reasoning=True)
    assert facts(own) == facts(hermes) | {
        "models": "any model that is shown how",
        "reasoning": "<think> … </think> and open where the answer begins",
    }


def test_an_unknown_name_is_refused_with_the_nearest(command):
    ended = command("dialects", "hermess")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f'cogency-rs: there is no dialect "hermess"; the nearest is "hermes" ({Dialect("hermes").models}); '
        "docs/presets.md has those of all models\n"
    )


def test_the_dialect_of_a_template_is_told(command, tmp_path):
    path = tmp_path / "chat_template.jinja"
    path.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    ended = command("dialects", "--detect", str(path))
    assert ended.code == 0
    assert ended.out.startswith("hermes\nevidence   the template writes neither tools nor calls")
    assert "doubts     the model may not have been taught calls at all" in ended.out
    fields = json.loads(command("dialects", "--detect", str(path), "--json").out)
    assert (fields["dialect"], len(fields["doubts"])) == ("hermes", 1)


def test_what_has_no_dialect_is_an_error_in_one_line(command, tmp_path):
    ended = command("dialects", "--detect", str(tmp_path / "none"))
    assert ended.code == 2
    assert "cannot be read: No such file" in ended.err
    path = tmp_path / "chat_template.jinja"
    path.write_text(
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<<<{{ c.function.name }}"
        "{{ c.function.arguments }}>>>{% endfor %}{% endfor %}"
    )
    ended = command("dialects", "--detect", str(path))
    assert ended.code == 2
    assert f"no dialect fits the template of {path}: none reads the calls" in " ".join(
        ended.err.split()
    )
    assert command("dialects", "--detect", str(path), "--json").out == "null\n"
    ended = command("dialects", "hermes", "--detect", str(path))
    assert "--detect finds the dialect itself; leave out hermes" in ended.err
