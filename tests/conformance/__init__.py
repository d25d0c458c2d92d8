"""The calls and texts that we read in each dialect, compared with those that other parsers read.

`cases` is what models write and what others make of it, `reading` is what we make of it, `agreement` compares the two
and counts, and `differences` names every case where they are not the same, with the reason.
"""
