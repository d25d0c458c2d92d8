"""An older wheel as an oracle: both answer the same cases, and each difference has an entry in a table."""
