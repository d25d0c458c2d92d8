"""What a model is asked next: the system prompt, and the conversation from the log."""
