"""What a model writes and reads: text to events, and calls and results to text."""
