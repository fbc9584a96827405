"""Makes the pictures of README and docs from a running demo."""
