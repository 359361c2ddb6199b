"""The command line: ``cosparse denoise photo.png``."""

from cosparse.cli.app import main

__all__ = ["main"]
