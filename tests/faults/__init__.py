"""What can go wrong, one row each, on real parts; after every row the same assertion (whole.py).

`make test` runs the rows marked `is_sample`, one of each kind; `make faults` runs them all and writes
docs/reliability.md from what happened.
"""
