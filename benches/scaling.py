"""Shows that the parser's cost is linear: the time for 2N characters over the time for N.

    python benches/scaling.py [--size 524288] [--rounds 5]

Every input is fed one character at a time, the worst way of cutting. A ratio of 2 is linear, 4 is quadratic.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

from cogency_rs import Parser

OPEN_STRING = '<execute>[{"name": "t", "args": {"x": "'

INPUTS: dict[str, Callable[[int], str]] = {
    "one huge argument": lambda size: OPEN_STRING + "x" * size + '"}}]</execute>',
    "argument of escapes": lambda size: OPEN_STRING + "\\n" * (size // 2) + '"}}]</execute>',
    "one huge number": lambda size: '<execute>[{"name": "t", "args": {"x": ' + "1" * size,
    "'<' repeated": lambda size: "<" * size,
    "'<thin' repeated": lambda size: "<thin" * (size // 5),
    "an unclosed think": lambda size: "<think>" + "x" * size,
    "open string after </execute>": lambda size: OPEN_STRING + "</execute>" + "x" * size,
    "broken blocks": lambda size: "<execute>x</execute>" * (size // 20),
    "blocks that open strings": lambda size: '<execute>["</execute>' * (size // 21),
    "nested repeated keys": lambda size: (
        '<execute>[{"name": "t", "args": '
        + '{"a": 1, "a": ' * 150
        + '"'
        + "x" * size
        + '"'
        + "}" * 150
        + "}]</execute>"
    ),
}


def seconds(text: str, stream: str) -> float:
    """Time one parse, one character at a time."""
    parser = Parser(stream=stream)
    feed = parser.feed
    start = time.perf_counter()
    for character in text:
        feed(character)
    parser.finish()
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--size", type=int, default=1 << 19, help="N, in characters")
    arguments.add_argument("--rounds", type=int, default=5, help="the best of so many counts")
    options = arguments.parse_args()
    print(f"{'input':30} {'mode':6} {'N ns/char':>10} {'2N ns/char':>11} {'ratio':>6}")
    for (name, make), stream in itertools.product(INPUTS.items(), ("event", "token")):
        short, long = make(options.size), make(2 * options.size)
        times = [(seconds(short, stream), seconds(long, stream)) for _ in range(options.rounds)]
        once, twice = (min(column) for column in zip(*times, strict=True))
        per_once, per_twice = 1e9 * once / len(short), 1e9 * twice / len(long)
        print(f"{name:30} {stream:6} {per_once:10.0f} {per_twice:11.0f} {twice / once:6.2f}")


if __name__ == "__main__":
    main()
