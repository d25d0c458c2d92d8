"""A model's text as the messages of a chat API, and those messages as the model's text: for servers and proxies."""

from .._core import ChatReader
from .chat_writer import ChatWriter, error_body
from .served import served_dialect, served_names

__all__ = ["ChatReader", "ChatWriter", "error_body", "served_dialect", "served_names"]
