"""`python -m cogency_rs` is the console script `cogency-rs`."""

from .cli import main

if __name__ == "__main__":
    main()
