"""A language model of a few tokens, made in a moment, with fixed answers: for a real server to serve.

The model is a Llama of one layer whose attention and feed-forward network are zero, so the last token alone says which
one comes next. An answer is a chain of tokens, each of which leads to the next. The chat template ends the prompt with
a token of its own for each answer, so the template chooses the answer.

    path.write_bytes(tiny_model({"2 + 3": "It is 5."}))

The file is in the format GGUF, version 3.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

__all__ = ["Endless", "tiny_model"]


@dataclass(frozen=True)
class Endless:
    """An answer that is written again and again, until its request is cancelled."""

    text: str


WIDTH = 512
"""How many numbers stand for one token, and so how many tokens there may be."""

HEADS, FEED_FORWARD, CONTEXT = 8, 32, 1 << 16

LONGEST_PIECE = 16

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
"""Kinds of tokens."""

BEGIN, END = 1, 2
"""The tokens at both ends of a text."""


def tiny_model(answers: Mapping[str, str | Endless]) -> bytes:
    """Write the file of a model.

    Args:
        answers: its answer to a last message that contains the key, followed by ` with ` and the first tool's name if
            the request has tools. The first key that is found counts; the last answer is given if none is found.
    """
    tokens = _Tokens()
    marks = [tokens.add(f"<|answer {number}|>", CONTROL) for number in range(len(answers))]
    for mark, answer in zip(marks, answers.values(), strict=True):
        text = answer.text if isinstance(answer, Endless) else answer
        pieces = tokens.chain(mark, text)
        tokens.next[pieces[-1]] = pieces[0] if isinstance(answer, Endless) else END
    return _gguf(_facts(tokens, _template([*answers])), _tensors(tokens))


class _Tokens:
    """The vocabulary, and which token comes after which."""

    def __init__(self) -> None:
        self.texts = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
        self.kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256]
        self.next: dict[int, int] = {}
        for mark in ("<|im_start|>", "<|im_end|>"):
            self.add(mark, CONTROL)

    def add(self, text: str, kind: int = NORMAL) -> int:
        assert len(self.texts) < WIDTH, "there are too many answers for so small a model"
        self.texts.append(text)
        self.kinds.append(kind)
        return len(self.texts) - 1

    def chain(self, at: int, text: str) -> list[int]:
        """Make the tokens of a text, of which each leads to the next, and `at` to the first; returns them."""
        made: list[int] = []
        for piece in self._cut(text.replace(" ", "\u2581")):
            self.next[at] = at = self.add(piece)
            made.append(at)
        return made

    def _cut(self, text: str) -> list[str]:
        """Cut a text into pieces that no other chain has, since each token leads to only one other."""
        pieces: list[str] = []
        at = 0
        while at < len(text):
            lengths = range(4, LONGEST_PIECE)
            ends = (at + size for size in lengths if len(text) - at - size not in range(1, 4))
            new = (end for end in ends if text[at:end] not in (*self.texts, *pieces))
            end = next(new, 0)
            assert end, f"no piece of {text[at:]!r} is new: write it in other words"
            pieces.append(text[at:end])
            at = end
        return pieces


def _template(keys: Sequence[str]) -> str:
    """A chat template with calls in the form of Hermes and Qwen."""
    choice = "".join(
        f"{{% {'if' if not number else 'elif'} {key!r} in said %}}<|answer {number}|>"
        for number, key in enumerate(keys)
    )
    return (
        "{% if tools %}<|im_start|>system\n<tools>{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>\n"
        'Write a call as <tool_call>\n{"name": ..., "arguments": ...}\n</tool_call><|im_end|>\n{% endif %}'
        "{% for message in messages %}<|im_start|>{{ message.role }}\n"
        "{% if message.reasoning_content %}<think>\n{{ message.reasoning_content }}\n</think>\n{% endif %}"
        "{{ message.content or '' }}"
        "{% for call in message.tool_calls or [] %}"
        "{% set call = call.function %}"
        '<tool_call>\n{"name": {{ call.name | tojson }}, "arguments": {{ call.arguments | tojson }}}\n'
        "</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}"
        "{% set said = messages[-1].content ~ (' with ' ~ tools[0].function.name if tools else '') %}"
        f"{choice}{{% else %}}<|answer {len(keys) - 1}|>{{% endif %}}{{% endif %}}"
    )


def _facts(tokens: _Tokens, template: str) -> dict[str, object]:
    return {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.block_count": 1,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": 1,
        "llama.attention.layer_norm_rms_epsilon": 1e-6,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens.texts,
        "tokenizer.ggml.scores": [0.0] * len(tokens.texts),
        "tokenizer.ggml.token_type": tokens.kinds,
        "tokenizer.ggml.bos_token_id": BEGIN,
        "tokenizer.ggml.eos_token_id": END,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": template,
    }


Tensor = tuple[tuple[int, ...], "array[float]"]


def _tensors(tokens: _Tokens) -> dict[str, Tensor]:
    """The weights. A token is embedded as a one in a place of its own; the output row of the next token matches it."""
    count, one_head = len(tokens.texts), WIDTH // HEADS
    reads, writes = _zeros(WIDTH, count), _zeros(WIDTH, count)
    for token in range(count):
        reads[1][token * WIDTH + token] = 1.0
    for token, after in tokens.next.items():
        writes[1][after * WIDTH + token] = 1.0
    return {
        "token_embd.weight": reads,
        "output_norm.weight": _ones(WIDTH),
        "output.weight": writes,
        "blk.0.attn_norm.weight": _ones(WIDTH),
        "blk.0.attn_q.weight": _zeros(WIDTH, WIDTH),
        "blk.0.attn_k.weight": _zeros(WIDTH, one_head),
        "blk.0.attn_v.weight": _zeros(WIDTH, one_head),
        "blk.0.attn_output.weight": _zeros(WIDTH, WIDTH),
        "blk.0.ffn_norm.weight": _ones(WIDTH),
        "blk.0.ffn_gate.weight": _zeros(WIDTH, FEED_FORWARD),
        "blk.0.ffn_up.weight": _zeros(WIDTH, FEED_FORWARD),
        "blk.0.ffn_down.weight": _zeros(FEED_FORWARD, WIDTH),
    }


def _zeros(*shape: int) -> Tensor:
    return shape, array("f", bytes(4 * prod(shape)))


def _ones(size: int) -> Tensor:
    return (size,), array("f", [1.0]) * size


# The format


ALIGNMENT = 32

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
"""Kinds of values."""

F32 = 0
"""A tensor of numbers of 32 bits."""


def _gguf(facts: Mapping[str, object], tensors: Mapping[str, Tensor]) -> bytes:
    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(facts))]
    head += [_text(name) + _fact(value) for name, value in facts.items()]
    data: list[bytes] = []
    offset = 0
    for name, (shape, numbers) in tensors.items():
        sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head.append(_text(name) + sizes + struct.pack("<IQ", F32, offset))
        data.append(_aligned(numbers.tobytes()))
        offset += len(data[-1])
    return _aligned(b"".join(head)) + b"".join(data)


def _fact(value: object) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", BOOL, value)
        case int():
            return struct.pack("<II", UINT32, value)
        case float():
            return struct.pack("<If", FLOAT32, value)
        case str():
            return struct.pack("<I", STRING) + _text(value)
        case [str(), *_] as texts:
            return struct.pack("<IIQ", ARRAY, STRING, len(texts)) + b"".join(map(_text, texts))
        case [float(), *_] as numbers:
            count = len(numbers)
            return struct.pack(f"<IIQ{count}f", ARRAY, FLOAT32, count, *numbers)
        case [int(), *_] as numbers:
            count = len(numbers)
            return struct.pack(f"<IIQ{count}i", ARRAY, INT32, count, *numbers)
        case _:
            raise TypeError(f"GGUF has no kind of value for {value!r}")


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)
