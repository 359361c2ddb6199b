"""The program: its commands, and how it ends."""

from __future__ import annotations

import functools
import os
import signal
import sys
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand

from cosparse._version import __version__
from cosparse.cli import demo, inspecting, learn, refine, repair_commands
from cosparse.cli.console import Debug, UsageProblem, complain, reason

_ClickError: Any = typer.BadParameter.__mro__[2]  # Typer has a Click of its own, or uses Click


class Stopped(Exception):
    """By Ctrl-C. Exit code 130."""


class Command(TyperCommand):
    """A command whose usage line is written as people read it."""

    usage = "[OPTIONS]"

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Typer would write '{IN}...'."""
        return [self.usage]


app = typer.Typer(
    name="cosparse",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cosparse {__version__}")
        raise typer.Exit


@app.callback(epilog="\b\nExamples:\n  cosparse demo\n  cosparse denoise photo.jpg")
def _program(
    version: Annotated[bool, Option("--version", help="Show the version.", callback=_version, is_eager=True)] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Repair images with a learned analysis operator.

    Every command has its own --help with examples.
    """


def _add(function: Any, usage: str, *examples: str) -> None:
    kind = type("Command", (Command,), {"usage": usage})
    title = "Example" if len(examples) == 1 else "Examples"
    lines = "\n".join(f"  cosparse {function.__name__} {example}".rstrip() for example in examples)

    @functools.wraps(function)
    def command(*args: Any, **options: Any) -> None:
        try:
            function(*args, **options)
        except KeyboardInterrupt as error:  # Typer would end without a word
            raise Stopped(str(error) or "stopped") from None

    app.command(cls=kind, epilog=f"\b\n{title}:\n{lines}")(command)


_add(demo.demo, "[OPTIONS]", "")
_add(repair_commands.denoise, "IN... [OUT] [OPTIONS]", "photo.jpg", "scans/ clean/ --sigma 10")
_add(
    repair_commands.inpaint, "IN... [OUT] --mask MASK [OPTIONS]",
    "photo.png --mask scratches.png", "painted.jpg clean.jpg --mask '#ff0000' --grow 2",
)  # fmt: skip
_add(repair_commands.upscale, "IN... [OUT] [OPTIONS]", "small.png large.png --factor 3")
_add(
    repair_commands.deblur, "IN... [OUT] --kernel KERNEL [OPTIONS]",
    "photo.png sharp.png --kernel gaussian:2", "photo.png --kernel motion:15:30 --sigma 2",
)  # fmt: skip
_add(repair_commands.deblock, "IN... [OUT] [OPTIONS]", "photo.jpg photo.png", "photos/ better/ --format png")
_add(
    learn.learn, "IMAGES... -o FILE [OPTIONS]",
    "photos/ -o mine.safetensors", "photos/ -o mine.safetensors --checkpoint run.ckpt",
)  # fmt: skip
_add(
    refine.refine, "OP IMAGES... -o FILE [OPTIONS]",
    "mine.safetensors photos/ -o better.safetensors", "dct:7 photos/ -o small.safetensors --sigma 25",
)  # fmt: skip
_add(inspecting.inspect, "[OP] [OPTIONS]", "mine.safetensors --atoms atoms.png")
_add(inspecting.compare, "A B [OPTIONS]", "truth.png repaired.png")
_add(demo.studio, "[OPTIONS]", "")


def _end_at(name: str) -> None:
    """End as Python does at a signal of that name, so that states are kept and temporary files go; if it is heeded."""
    number = getattr(signal, name, None)  # Windows has no SIGHUP
    if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup has it ignored
        signal.signal(number, lambda *_: sys.exit(128 + number))


def main(arguments: list[str] | None = None) -> int:
    """Run the program; returns the exit code: 0 done, 1 some inputs failed, 2 misused."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    plain = given[: given.index("--")] if "--" in given else given
    Debug.on = "--debug" in plain  # wherever it stands
    given = [a for a in plain if a != "--debug"] + given[len(plain) :]
    if arguments is None:
        for name in ("SIGTERM", "SIGHUP"):
            _end_at(name)
    try:
        return int(app(given, standalone_mode=False, prog_name="cosparse") or 0)
    except (Stopped, KeyboardInterrupt, typer.Abort) as error:
        complain(str(error) or "stopped")
        return 130
    except BrokenPipeError:
        # The reader has gone; say nothing, not even when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageProblem as error:
        complain(reason(error))
        return 2
    except _ClickError as error:
        command = error.ctx.command_path if getattr(error, "ctx", None) else "cosparse"
        complain(f"{error.format_message().rstrip('.')}; see {command} --help")
        return 2
    except Exception as error:
        complain(reason(error))
        return 1
