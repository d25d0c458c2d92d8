"""Type hints as JSON Schema, and JSON values as what the hints ask for.

A `Shape` is both sides of one hint: the schema that tells a model what to write, and the reader that turns what it
wrote into the Python value, or says what is wrong with it. Nothing is converted by guessing: `"3"` is no integer. The
hints of the standard library are known here (`hints`); any other one is left to pydantic (`models`), which is imported
when the first such hint is met.
"""

from .fields import Fields
from .hints import HintError, Shapes, resolve
from .param import Param
from .shape import Mismatch, Shape
from .values import is_json, json_value

__all__ = [
    "Fields",
    "HintError",
    "Mismatch",
    "Param",
    "Shape",
    "Shapes",
    "is_json",
    "json_value",
    "resolve",
]
