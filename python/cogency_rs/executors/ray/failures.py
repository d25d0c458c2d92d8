"""What Ray's errors mean for a call: did the tool run, or is that unknown?

The outcome of a call is unknown unless its error is in the table of errors after which the tool did not run.
"""

from __future__ import annotations

from ...errors import ToolError, UnknownOutcome
from ...guards.secrets import NO_SECRETS, Secrets

__all__ = ["failure_of_call", "failure_of_shipping", "one_line"]

NEVER_RAN = {
    "RuntimeEnvSetupError": "its runtime_env cannot be set up on the worker",
    "TaskUnschedulableError": "no worker can run it",
    "ActorUnschedulableError": "no worker can run it",
    "TaskPlacementGroupRemoved": "its placement group was removed",
    "ActorPlacementGroupRemoved": "its placement group was removed",
    "PendingCallsLimitExceeded": "too many calls wait for its actor",
    "AuthenticationError": "Ray refuses the program's token",
}
"""Errors after which it is known that the tool did not run, and what they mean, by the names of Ray's classes."""

LOST = {
    "WorkerCrashedError": "the worker that ran it was lost",
    "LocalRayletDiedError": "Ray on this machine was lost",
    "NodeDiedError": "the machine that ran it was lost",
    "OutOfMemoryError": "its worker was killed because memory ran out",
    "ActorDiedError": "the actor that ran it was lost, and its state with it",
    "ActorUnavailableError": "the actor that ran it cannot be reached",
    "TaskCancelledError": "someone else cancelled it",
}
"""Errors after which it is not known whether the tool ran, and what they mean."""


def failure_of_call(error: Exception, name: str, secrets: Secrets = NO_SECRETS) -> ToolError:
    """What an error of Ray's means for a call.

    Args:
        error: what waiting for the call's reply raised.
        name: the tool's name.
        secrets: what the text must not show.
    """
    kinds = [each.__name__ for each in type(error).__mro__]
    for kind in kinds:
        if why := NEVER_RAN.get(kind):
            return ToolError(
                f"Tool '{name}' was not run: {why}: {one_line(error, secrets)}",
                cause=secrets.clean(error),
            )
        if why := LOST.get(kind):
            return _unknown(name, why, secrets.clean(error))
    if "RayTaskError" in kinds:
        return _failed_around(error, name, secrets)
    return _unknown(name, one_line(error, secrets), secrets.clean(error))


def failure_of_shipping(problem: str, name: str) -> ToolError:
    """The error for a tool that a worker cannot load."""
    advice = ""
    if "ModuleNotFoundError" in problem or "ImportError" in problem:
        advice = "; install what is missing on the workers, or name it in runtime_env"
    return ToolError(
        f"Tool '{name}' was not run, because a worker cannot load it: {problem}{advice}"
    )


def _failed_around(error: Exception, name: str, secrets: Secrets) -> ToolError:
    """The error for an exception on a worker that the tool did not raise: this package would have caught it."""
    text = secrets.hide(str(error))
    if "ModuleNotFoundError: " in text and "import" in text:
        problem = text[text.rindex("ModuleNotFoundError: ") :].splitlines()[0]
        return failure_of_shipping(problem, name)
    last = text.strip().splitlines()[-1:] or [""]
    return _unknown(name, f"its result cannot be sent back: {last[0]:.300}", secrets.clean(error))


def _unknown(name: str, why: str, error: Exception) -> UnknownOutcome:
    return UnknownOutcome(
        f"It is not known whether the call to '{name}' happened: {why}. Find out before it is called again.",
        cause=error,
    )


def one_line(error: Exception, secrets: Secrets = NO_SECRETS) -> str:
    """The class of an error and the beginning of its text, without secrets."""
    text = " ".join(secrets.hide(str(error)).split())
    return f"{type(error).__name__}{text and f': {text:.200}'}"
