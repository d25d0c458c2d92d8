"""The calls and texts that we read in each dialect, compared with those that other parsers read.

`cases` has texts of models and what other parsers read in them, `reading` reads them with ours, `agreement` compares
and counts, and `differences` names every case where the two differ, with the reason.
"""
