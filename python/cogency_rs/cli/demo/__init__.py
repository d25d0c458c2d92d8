"""The demo: a chat whose model gives recorded answers, and in which everything else is real.

`recording` reads the recorded answers, `model` gives them, `workspace` has the files and `tools` the tools, `player`
types the questions and runs the chat. `command` is the command line's `cogency-rs demo`.
"""
