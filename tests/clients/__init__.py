"""What clients of chat APIs run of a call that broke: `make clients` has them in an environment of its own."""
