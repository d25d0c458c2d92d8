"""How the core was compiled, and a warning about a debug build."""

from __future__ import annotations

__all__ = ["warn_of_debug_code"]


def warn_of_debug_code(build: str) -> None:
    """Warn the importing program if the core is a debug build.

    Args:
        build: `_core.BUILD`.

    Warns:
        RuntimeWarning: it is; says how to build one for use.
    """
    if build != "debug":
        return
    import warnings

    warnings.warn(
        "the core of cogency_rs was built without optimisation and is many times slower; "
        "build it for use with `maturin develop --release`, or `make`",
        RuntimeWarning,
        stacklevel=3,  # the code that imports the package
    )
