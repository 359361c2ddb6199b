"""``python -m cosparse``: the command line."""

import sys

from cosparse.cli import main

if __name__ == "__main__":
    sys.exit(main())
