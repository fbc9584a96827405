"""Who is asking: a bearer token or a session."""
