"""Tools on Ray: each call is a Ray task, or a call of an actor if the tool has state.

`executor.py` has the class that a program uses, `cluster.py` the connection to Ray, `shipping.py` the bytes that are
sent there and back, `worker.py` the code that runs on a worker, `failures.py` the meaning of Ray's errors. Ray is
imported when the first call needs it; the extra `ray` installs it.
"""

from .executor import RayExecutor
from .sending import Actor

__all__ = ["Actor", "RayExecutor"]
