"""What holds a model or a server back, and what would help: rules over what Prometheus knows."""
