"""What came of a call: its result, its record, and its place in a trace."""
