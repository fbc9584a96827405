"""The one-command stack: what `make demo` and `make run` start."""
