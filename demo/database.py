"""Brings the database up to date and makes the first account: one process instead of two.

`python -m demo.database USERNAME PASSWORD_FILE TOKEN_FILE SD_TOKEN_FILE`
"""

import sys
from pathlib import Path

import django
from django.core.management import call_command


def main() -> None:
    """Run `migrate`, then `bootstrap`."""
    username, password_file, token_file, sd_token_file = sys.argv[1:]
    django.setup()
    call_command("migrate", interactive=False)
    call_command(
        "bootstrap",
        username=username,
        password_file=Path(password_file),
        token_file=Path(token_file),
        sd_token_file=Path(sd_token_file),
    )


if __name__ == "__main__":
    main()
