"""What tests of programs with this package need; nothing here is imported by the package itself."""

from .log_conformance import LogConformance

__all__ = ["LogConformance"]
