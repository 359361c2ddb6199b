"""The option --noise: what kind of noise a picture has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cosparse.cli.console import UsageProblem
from cosparse.io.picture import read_grey
from cosparse.noise import Correlated, Gaussian, Map, Noise, PoissonGaussian

FORMS = "gaussian:SIGMA, poisson:GAIN[:READ[:OFFSET]], map:FILE or correlated:SIGMA:FILE"


@dataclass(frozen=True)
class NoiseOption:
    """What --noise says, read and checked before any work."""

    spec: str
    stated: Noise

    @classmethod
    def of(cls, spec: str) -> NoiseOption:
        """The model that `spec` names.

        >>> NoiseOption.of("poisson:0.5:2").stated
        PoissonGaussian(gain=0.5, read=2, offset=0)
        """
        kind, *given = spec.split(":")
        try:
            return cls(spec, _model(kind, given))
        except UsageProblem:
            raise
        except (OSError, ValueError) as error:
            raise UsageProblem(f"--noise {spec}: {error}") from error

    def model(self, span: float) -> Noise:
        """In the units of a picture whose white is `span`.

        Levels are stated on 0..255, as --sigma; gains in the picture's own values, as data sheets of cameras have them.
        """
        return self.stated if isinstance(self.stated, PoissonGaussian) else self.stated.scaled(span / 255.0)


def _model(kind: str, given: list[str]) -> Noise:
    counts = {"gaussian": (1, 1), "poisson": (1, 3), "map": (1, 9), "correlated": (2, 9)}
    low, high = counts.get(kind, (1, 0))
    if not low <= len(given) <= high:
        raise UsageProblem(f"--noise {':'.join([kind, *given])}: expected {FORMS}")
    if kind == "gaussian":
        return Gaussian(_number(given[0]))
    if kind == "poisson":
        return PoissonGaussian(*map(_number, given))
    if kind == "map":
        return Map(read_grey(Path(":".join(given))))
    return Correlated(_number(given[0]), kernel=read_grey(Path(":".join(given[1:]))))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number; expected {FORMS}") from None
