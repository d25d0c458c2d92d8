"""Turns type hints into JSON Schema, and JSON values into values of the hints' types.

A `Shape` is both sides of one hint: the schema that tells a model what to write, and the reader that turns a value that
fits the schema into the Python value. The core checks that it fits; the readers convert, and check only what no schema
can express: what a class's own constructor or pydantic's validators refuse. The simplest hints are described here
(`hints`); every other hint is left to pydantic (`models`), which is imported when the first such hint is met.
"""

from .fields import Fields
from .hints import HintError, Shapes, resolve
from .param import Param
from .shape import Mismatch, Shape, read_at
from .values import is_json

__all__ = [
    "Fields",
    "HintError",
    "Mismatch",
    "Param",
    "Shape",
    "Shapes",
    "is_json",
    "read_at",
    "resolve",
]
