"""The demo: a recorded session played through the real core, with real tools and a real log.

`recording` reads what the model said, `workspace` and `tools` are what it works on and with,
`player` carries out the turns, and a `view` shows them: `screen` for people, JSON lines for
programs. `command` is the command line's `cogency-rs demo`.
"""
