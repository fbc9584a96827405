"""What can go wrong with a part, and the way out."""


class PartError(Exception):
    """A part of the stack failed; `hint` says what to do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message}\n  {hint}" if hint else message)
        self.hint = hint


class PartMissing(PartError):
    """Something the part needs is not on this machine and could not be fetched."""


class PartDied(PartError):
    """The process ended before it answered."""


class PartNotReady(PartError):
    """The process runs, but did not answer in time."""
