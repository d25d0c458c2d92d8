"""Tools on Ray: each call is a Ray task, or a call of an actor if the tool has state.

`executor.py` is what a program uses. `cluster.py` is the way to Ray, `shipping.py` what is sent and what comes back,
`worker.py` what runs on the other side, `failures.py` what Ray's errors mean. Ray is imported when the first call needs
it; the extra `ray` installs it.
"""

from .executor import RayExecutor
from .options import Actor

__all__ = ["Actor", "RayExecutor"]
