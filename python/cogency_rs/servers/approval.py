"""Which calls of a server's tools somebody is asked about: all of them, unless the program says otherwise."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, cast

from ..guards.arguments import refused

__all__ = ["ApproveCalls", "Asking"]

Asks = Literal["always", "never", "unless-read-only"]
"""`"unless-read-only"` believes the server: its tools that say that they only read are not asked about."""

ApproveCalls = Asks | Mapping[str, Asks]
"""One rule for all tools of a server; or rules by the server's names of its tools, with `"*"` for the others."""

_RULES: tuple[Asks, ...] = ("always", "never", "unless-read-only")
_ACCEPTED = '"always", "never" or "unless-read-only", or a dict of these by the name of the tool'
_OTHERS = "*"


class Asking:
    """Decides whether somebody is asked before a call of a tool.

    Args:
        approve: the rules; a tool without one is asked about.

    Raises:
        ArgumentError: `approve` is not a rule, and not rules by name.
    """

    def __init__(self, approve: ApproveCalls) -> None:
        rules: Any = approve if isinstance(approve, Mapping) else {_OTHERS: approve}
        for name, rule in cast("Mapping[Any, Any]", rules).items():
            if not isinstance(name, str) or rule not in _RULES:
                argument = "approve" if name == _OTHERS else f"approve[{name!r}]"
                raise refused(argument, rule, _ACCEPTED)
        self._rules: dict[str, Asks] = {**rules}

    def asks(self, name: str, *, says_it_only_reads: bool) -> bool:
        """Whether somebody is asked.

        Args:
            name: the server's name of the tool.
            says_it_only_reads: whether the server says so, with the hint `readOnlyHint`.
        """
        match self._rules.get(name, self._rules.get(_OTHERS, "always")):
            case "never":
                return False
            case "unless-read-only":
                return not says_it_only_reads
            case _:
                return True

    def without_a_tool(self, names: Collection[str]) -> list[str]:
        """The names of rules that are not among these names of tools."""
        return [name for name in self._rules if name != _OTHERS and name not in names]
