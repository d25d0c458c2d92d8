"""What is read in each dialect, against what other parsers read in the same text.

`cases` is what models write and what others make of it, `reading` is what we make of it, `agreement` compares the two
and counts, and `differences` names every case where they are not the same, with the reason.
"""
