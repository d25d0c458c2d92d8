"""What the package shows to someone who looks around in it."""

from __future__ import annotations

import subprocess
import sys

import cogency_rs


def test_dir_lists_all_public_names_before_any_of_them_was_used():
    code = "import cogency_rs; print(sorted(set(cogency_rs.__all__) - set(dir(cogency_rs))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_is_there():
    assert [name for name in cogency_rs.__all__ if getattr(cogency_rs, name, None) is None] == []
    assert len(set(cogency_rs.__all__)) == len(cogency_rs.__all__)
