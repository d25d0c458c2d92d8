"""The demo: a chat whose model gives recorded answers, and in which everything else is real.

`recording` reads what the model said, `model` says it, `workspace` and `tools` are what it works on and with, `player`
types the questions and holds the conversation. `command` is the command line's `cogency-rs demo`.
"""
