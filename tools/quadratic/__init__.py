"""A search for work that grows faster than the text, in everything that takes text from outside."""
