"""Parsers for vLLM and SGLang, which find them by the entry points of this package. Nothing else imports them."""
