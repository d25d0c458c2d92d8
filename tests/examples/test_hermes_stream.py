"""The example prints a recorded stream of another dialect as typed events, although its chunks cut the tags."""

import json


def test_it_prints_one_event_per_line(run):
    assert run("hermes_stream.py").splitlines() == [
        "think    The note says how calls are closed, so the mark itself must be in the file.",
        "respond  I'll look at what is there and write the note beside it.",
        'call     {"name": "list", "args": {"path": "notes", "hidden": false}}',
        'call     {"name": "write", "args": {"path": "notes/calls.md", '
        r'"text": "A call ends with </tool_call>, also in \u00abna\u00efve\u00bb texts.\n"}}',
        "execute  ",
    ]


def test_the_recording_cuts_its_tags(examples):
    lines = (examples / "hermes_stream.jsonl").read_text(encoding="utf-8").splitlines()
    chunks = [json.loads(line) for line in lines]
    assert len(chunks) > 50
    assert not any("<tool_call>" in chunk or "</think>" in chunk for chunk in chunks)
