"""An event loop that runs only while it is told to, and tools whose time is that of the one who tells it."""

import asyncio


class ToolError(Exception):
    """In place of the package's class of this name: the package may not be installed here."""


class ToolResult:
    def __init__(self, outcome, error):
        self.outcome, self.error = outcome, error


class SteppedLoop(asyncio.SelectorEventLoop):
    """A loop that says when there is something to do, and is then run until there is nothing more."""

    def __init__(self, woken):
        super().__init__()
        self._woken = woken

    def call_soon_threadsafe(self, callback, *args, context=None):
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        self._woken()
        return handle

    def run_until_idle(self):
        while self._ready:
            self.call_soon(self.stop)
            self.run_forever()


def scripted(index, attempts, note, start_timer):
    """A tool whose attempts take the seconds of a case, and end as it says."""
    started = 0

    async def tool(**_):
        nonlocal started
        seconds, end = attempts[min(started, len(attempts) - 1)]
        started += 1
        note("begin", index)
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        start_timer(
            seconds, lambda: loop.call_soon_threadsafe(lambda: over.done() or over.set_result(None))
        )
        try:
            await over
        except asyncio.CancelledError:
            note("stop", index)
            raise
        note("end", index)
        match end:
            case "raise":
                raise ToolError("it failed")
            case "crash":
                raise RuntimeError("it broke")
            case "fail":
                return ToolResult("it failed", error=True)
        return index

    tool.__name__ = f"t{index}"
    return tool
