"""The page on models lists every dialect under each model that was taught it."""

from __future__ import annotations

from cogency_rs import Dialect
from tools.presets import MODELS_PAGE, models_of, with_models

TEXT = MODELS_PAGE.read_text(encoding="utf-8")


def test_the_table_is_the_one_made_from_the_presets():
    assert with_models(TEXT) == TEXT, "run: python tools/presets.py"


def test_the_table_has_each_dialect_under_each_of_its_models():
    for dialect in map(Dialect, Dialect.presets()):
        for model in models_of(dialect):
            assert f"| {model or 'any model that is told how'} | `{dialect.name}` |" in TEXT
