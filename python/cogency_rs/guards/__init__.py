"""What is checked where something comes in or goes out: wrong arguments, JSON from outside, secrets; frozen values."""
