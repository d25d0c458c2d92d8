"""The warning about a core that was compiled without optimization."""

from __future__ import annotations

import warnings

import pytest

from cogency_rs import _core
from cogency_rs.loading import warn_of_debug_code


def test_the_core_says_how_it_was_compiled():
    assert _core.BUILD in {"debug", "release"}


def test_debug_code_gives_a_warning_that_says_what_to_do():
    with pytest.warns(RuntimeWarning, match="maturin develop --release") as caught:
        warn_of_debug_code("debug")
    assert [len(str(warning.message).splitlines()) for warning in caught] == [1]


def test_release_code_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_debug_code("release")
