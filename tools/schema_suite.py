"""Runs the official JSON-Schema-Test-Suite on the core: the proof of what `ArgumentSchema` claims, and grammars.

    python tools/schema_suite.py [FOLDER]

Fetches the source distribution of the package `jsonschema`, which carries the suite, unpacks it in FOLDER
(`.upstream`), and checks every instance of the drafts in `DRAFTS` against its schema. Fails if a test that is not in
`NOT_CLAIMED` is judged wrongly, if one that is there is judged rightly, or if fewer were checked than there are. Then
the core's tests of grammars get the same instances, each as the argument of a call: what a schema refuses, its grammar
refuses or lists as widened. If the distribution cannot be fetched, it does nothing, and says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdist import fetch

from cogency_rs._core import ArgumentSchema

VERSION = "4.26.0"
SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"

DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
TESTS = 2367
"""How many tests there are; fewer are a fault of this script."""

REMOTE = "a reference out of the schema is never followed"

NOT_CLAIMED: dict[str, str] = {
    "optional/format/": "a format describes, as 2020-12 has it unless asked otherwise; it is not checked",
    "refRemote:": REMOTE,
    "optional/cross-draft: refs to": REMOTE,
    "optional/format-assertion:": "a meta-schema of its own, which would have to be fetched",
    "dynamicRef: strict-tree schema, guards against misspelled properties": REMOTE,
    "dynamicRef: tests for implementation dynamic anchor and reference link": REMOTE,
    "dynamicRef: $ref and $dynamicAnchor are independent of order": REMOTE,
    "dynamicRef: $ref to $dynamicRef finds detached $dynamicAnchor": REMOTE,
    "vocabulary:": "a vocabulary is in a meta-schema of its own, which would have to be fetched",
}
"""Tests that are not claimed, and why: the beginnings of their names, each a `file: group: test`."""


@dataclass
class Test:
    """One instance and its schema."""

    draft: str
    file: str
    group: str
    name: str
    schema: Any
    instance: Any
    is_valid: bool

    @property
    def place(self) -> str:
        """The name of the test."""
        return f"{self.file}: {self.group}: {self.name}"


def tests_in(root: Path) -> Iterator[Test]:
    """The tests of the drafts that are claimed, the optional ones too."""
    for draft, uri in DRAFTS.items():
        for path in sorted((root / draft).rglob("*.json")):
            file = path.relative_to(root / draft).as_posix().removesuffix(".json")
            for group in json.loads(path.read_text("utf-8")):
                schema = group["schema"]
                if isinstance(schema, dict) and "$schema" not in schema:
                    schema = {"$schema": uri, **schema}
                for test in group["tests"]:
                    yield Test(
                        draft,
                        file,
                        group["description"],
                        test["description"],
                        schema,
                        test["data"],
                        test["valid"],
                    )


def as_parameter(schema: Any) -> Any:
    """A schema as that of the parameter `x`: what it refers to is below there."""
    match schema:
        case dict():
            return {
                key: value.replace("#", "#/properties/x", 1)
                if key == "$ref" and isinstance(value, str) and value.startswith("#")
                else as_parameter(value)
                for key, value in schema.items()
            }
        case list():
            return [as_parameter(each) for each in schema]
        case _:
            return schema


def check_grammars(tests: list[Test], cases: Path) -> None:
    """Run the core's test of grammars on these instances."""
    with cases.open("w", encoding="utf-8") as file:
        for test in tests:
            row = {
                "schema": as_parameter(test.schema),
                "instance": test.instance,
                "valid": test.is_valid,
            }
            print(json.dumps(row), file=file)
    command = "cargo test --quiet --package cogency-rs --features arguments --test interface"
    command += " -- --nocapture official_suite"
    environment = {**os.environ, "COGENCY_RS_SCHEMA_CASES": str(cases)}
    subprocess.run(command.split(), env=environment, check=True)


def main() -> None:
    """Fetch, check, and count."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".upstream").resolve()
    try:
        root = fetch(folder, "jsonschema", VERSION, SHA256) / "json" / "tests"
    except subprocess.CalledProcessError:
        print(f"the source distribution of jsonschema {VERSION} cannot be had: suite skipped")
        return
    wrong: list[str] = []
    used: set[str] = set()
    count = 0
    compiled: dict[str, ArgumentSchema] = {}
    claimed: list[Test] = []
    for test in tests_in(root):
        key = json.dumps(test.schema)
        if key not in compiled:
            compiled[key] = ArgumentSchema(test.schema, form="json schema")
        faults = compiled[key].faults(test.instance)
        is_right = (not faults) == test.is_valid
        excuse = next((start for start in NOT_CLAIMED if test.place.startswith(start)), None)
        if excuse is None:
            count += 1
            claimed.append(test)
            if not is_right:
                wrong.append(f"{test.draft}/{test.place}: {'; '.join(faults) or 'no fault'}")
        elif not is_right:
            used.add(excuse)
    for line in wrong:
        print(f"wrong: {line}")
    for place in NOT_CLAIMED.keys() - used:
        print(f"not needed among what is not claimed: {place}")
    if wrong or NOT_CLAIMED.keys() - used:
        sys.exit("what is claimed of JSON Schema does not hold")
    if count < TESTS:
        sys.exit(f"only {count} of {TESTS} tests were checked")
    print(f"{count} tests of the JSON-Schema-Test-Suite are judged rightly ({', '.join(DRAFTS)})")
    check_grammars(claimed, folder / "schema_cases.jsonl")


if __name__ == "__main__":
    main()
