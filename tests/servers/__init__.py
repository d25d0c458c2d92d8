"""vLLM and SGLang themselves, on a CPU and without a model: `make servers` has them in an environment of its own."""
