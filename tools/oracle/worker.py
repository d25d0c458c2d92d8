"""A process that has one version of the package: it draws cases and answers them, a line of JSON for each request.

    python -I -S tools/oracle/worker.py FOLDER [FAULT]

`-I -S` leaves nothing to import but the standard library, the package in FOLDER, and these tools.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path


def main() -> None:
    package, *fault = sys.argv[1:]
    sys.path[:0] = [package, str(Path(__file__).resolve().parents[2])]
    # What the package prints must not be among the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable()

    import cogency_rs
    from tools.oracle import answers, cases, faults

    found = Path(cogency_rs.__file__).resolve()
    if not found.is_relative_to(Path(package).resolve()):
        raise SystemExit(f"the package came from {found}, not from {package}")
    for name in fault:
        faults.FAULTS[name]()

    def answered(request: dict) -> list:
        match request:
            case {"draw": kind, "seed": seed, "from": first, "to": end}:
                return [cases.drawn(kind, seed, number) for number in range(first, end)]
            case {"recorded": folder, "seed": seed}:
                return list(cases.recorded(Path(folder), seed))
            case {"cases": asked}:
                return [answers.answer(case) for case in asked]
        raise ValueError(request)

    for line in sys.stdin.buffer:
        print(json.dumps(answered(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
