"""Executors run tools outside of the program's own process.

An executor is given among the hooks, and runs the tool itself elsewhere. Everything else about the call stays in the
program: the check of its arguments, hooks, approval, retries, time limits and the cap on how many calls run at once.
"""

from ..hooks.invocation import Executor

__all__ = ["Executor"]
