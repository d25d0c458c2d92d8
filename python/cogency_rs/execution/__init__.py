"""Carries out calls: one, or a batch side by side, with results in call order."""
