"""A world from a number: agents under moving clocks, repeated ids and death at any moment, and a judge.

One number draws a plan: conversations, what their models answer, processes and their clocks, people who decide, and
faults. A plan is carried out on an event loop in virtual time, so that it goes the same way each time. The judge reads
only the ledger of effects and the prompts that models were sent.

`python -m world --seed 7` shows one world; `make world N=1000 SEED=1` looks for one that breaks a promise.
"""
