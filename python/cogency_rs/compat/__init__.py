"""cogency 3.3.0 on this core: `install()`, and the plugin that runs its users' test suites."""
