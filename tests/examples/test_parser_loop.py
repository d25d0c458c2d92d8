"""The example of ten lines prints a model's text as typed events."""


def test_it_prints_one_event_per_line(run):
    assert run("parser_loop.py").splitlines() == [
        "think    One file is enough.",
        "respond  Reading a.txt. ",
        'call     {"name": "read", "args": {"file": "a.txt"}}',
        "execute  ",
    ]
