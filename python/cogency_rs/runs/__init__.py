"""What a run is and says, as its hooks, its driver and its program see it: its context, limits, steps and result."""
