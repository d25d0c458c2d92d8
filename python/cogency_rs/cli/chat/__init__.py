"""`cogency-rs chat`: a conversation with an agent in the terminal.

The agent lives on an event loop in a thread (`background`); the main thread reads what is typed (`keyboard`, with
`typist` at a terminal), asks about calls (`approvals`) and shows what happens (`view`, with `markdown` at a terminal).
So a server is answered while somebody types, and Ctrl-C always comes to the main thread. `session` is the conversation,
`commands` what may be typed in it, `kept` where it is kept, `command` the options. `options` and `assembly` make an
agent of them, also for `cogency-rs ask`, which is `ask`: one question, without the conversation.
"""
