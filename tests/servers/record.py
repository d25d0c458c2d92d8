"""What our plugins rely on of vLLM and SGLang, as their own classes have it: `support/server_interfaces.json`.

`python -m servers.record` writes it, `--check` says what is different in the servers that are installed.
"""

from __future__ import annotations

import inspect
import json
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parent.parent / "support" / "server_interfaces.json"

CLASSES = {
    "vllm": {
        "vllm.tool_parsers.abstract_tool_parser": (
            "ToolParser",
            "ToolParserManager",
            "DeltaMessage",
            "ExtractedToolCallInformation",
        ),
        "vllm.reasoning.abs_reasoning_parsers": ("ReasoningParser", "ReasoningParserManager"),
        "vllm.entrypoints.generate.base.protocol": (
            "DeltaFunctionCall",
            "DeltaToolCall",
            "FunctionCall",
            "ToolCall",
        ),
    },
    "sglang": {
        "sglang.srt.function_call.base_format_detector": ("BaseFormatDetector",),
        "sglang.srt.function_call.core_types": ("StreamingParseResult", "ToolCallItem"),
        "sglang.srt.function_call.function_call_parser": ("FunctionCallParser",),
        "sglang.srt.parser.reasoning_parser": ("BaseReasoningFormatDetector", "ReasoningParser"),
    },
}
"""The classes that are derived from, made or registered with, and the modules that they are looked up in."""

REGISTRIES = {
    "vllm": {
        "calls": ("vllm.tool_parsers", "ToolParserManager", "lazy_parsers"),
        "reasoning": ("vllm.reasoning", "ReasoningParserManager", "lazy_parsers"),
    },
    "sglang": {
        "calls": (
            "sglang.srt.function_call.function_call_parser",
            "FunctionCallParser",
            "ToolCallParserEnum",
        ),
        "reasoning": ("sglang.srt.parser.reasoning_parser", "ReasoningParser", "DetectorMap"),
    },
}


def described(found: type) -> dict[str, Any]:
    """The methods of a class with their parameters, those that must be there, and the fields of a model."""
    members = dict(inspect.getmembers(found))
    methods = {
        name: [*inspect.signature(member).parameters]
        for name, member in members.items()
        if (inspect.isfunction(member) or inspect.ismethod(member)) and _is_public(name)
    }
    fields = sorted(members["model_fields"]) if "model_fields" in members else []
    return {
        "module": found.__module__,
        "abstract": sorted(getattr(found, "__abstractmethods__", ())),
        "methods": {} if fields else dict(sorted(methods.items())),
        "fields": fields,
    }


def _is_public(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def recorded() -> dict[str, Any]:
    """The record, from the servers that are installed. No plugin is loaded."""
    return {
        server: {
            "version": version(server),
            "names": {
                kind: sorted(getattr(getattr(import_module(module), owner), registry))
                for kind, (module, owner, registry) in REGISTRIES[server].items()
            },
            "classes": {
                f"{module}.{name}": described(getattr(import_module(module), name))
                for module, names in classes.items()
                for name in names
            },
        }
        for server, classes in CLASSES.items()
    }


if __name__ == "__main__":
    text = json.dumps(recorded(), indent=1) + "\n"
    if "--check" not in sys.argv:
        RECORD.write_text(text, encoding="utf-8")
    elif text != RECORD.read_text(encoding="utf-8"):
        sys.exit(f"{RECORD.name} is not what the servers have: python -m servers.record writes it")
