"""Answers to both servers: read in the servers themselves, and against their interfaces as recorded."""

from __future__ import annotations

__all__ = ["CALL", "CASES"]

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'

CASES = [
    ("", f"<think>hm</think>Now. {CALL}", "hm", "Now. ", 1),
    ("", f"<think>hm</think>{CALL}{CALL}", "hm", "", 2),
    ("", f"Hi {CALL} there", "", "Hi  there", 1),
    ("", "<thi", "", "<thi", 0),
    ("", "<think>a </thin", "a </thin", "", 0),
    ("", "<think>hm</think>a <tool_", "hm", "a <tool_", 0),
    ("", CALL.replace("add", "rm"), "", CALL.replace("add", "rm"), 0),
    ("<think>\n", f"hm</think>{CALL}", "hm", "", 1),
    ("<think>\n\n</think>\n\n", f"Hi {CALL}", "", "Hi ", 1),
    ("<think>a</think>b<|im_end|>\n", f"<think>hm</think>Hi {CALL}", "hm", "Hi ", 1),
]
"""A prompt and an answer; and its reasoning, its content and how many calls it has."""
