"""Measures Conch's headline figures on a real stack, beside what people do without it: `python -m bench [NAME]`."""
