"""Kills programs at named points and at any moment, lets others go on, and judges by a bank's ledger: `make crashes`.

The parts know nothing of each other's insides, so that another system than ours can be put in place of `ours`:

programs    what an agent does: batches of calls, made of recorded scripts or of small ones
bank        the world: what calls did, in a ledger that outlives every process
kills       when a process is killed
judge       what must hold afterwards, from the ledger, the acknowledged results and the outcome
ours        carries a program out with this package, and reads the outcome from its log
campaign    forks processes, kills them, lets the last one end, and asks the judge
"""
