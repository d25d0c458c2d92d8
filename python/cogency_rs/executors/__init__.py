"""Executors run tools outside the program's own process.

An executor is one of the hooks, and runs only the tool itself elsewhere. Everything else about the call stays in the
program: the check of its arguments, hooks, approval, retries, time limits and the cap on how many calls run at once.
"""

from ..hooks.hooks import Executor

__all__ = ["Executor"]
