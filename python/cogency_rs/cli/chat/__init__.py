"""`cogency-rs chat`: a conversation with an agent in the terminal.

The agent lives on an event loop in a thread (`background`); the main thread reads keys (`keyboard`), asks about calls
(`approvals`) and shows what happens (`view`). So a server is answered while somebody types, and Ctrl-C always comes to
the main thread. `session` is the conversation, `commands` what may be typed in it, `command` the options. `options` and
`assembly` make an agent of them, also for `cogency-rs ask`.
"""
