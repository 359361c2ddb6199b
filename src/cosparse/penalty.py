"""The sparsity penalties: how much one analysed coefficient v costs.

Both are the smooth family of the paper. Its Eq. (37) uses

    phi(v) = (v² + nu)^(p/2) / p,      0 < p <= 1,

and for p -> 0 this tends, up to constants, to the logarithm

    phi(v) = log(1 + nu v²),

which converges several times faster and reconstructs better. Mind that `nu` smooths the first (small is
sharp) and scales the second (large is sharp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

LOG, PNORM = 0, 1  # how the kernels, which take numbers only, name the two forms


@dataclass(frozen=True)
class Penalty:
    """One member of the family; build it with :meth:`Penalty.log` or :meth:`Penalty.pnorm`.

    Parameters
    ----------
    form : {"log", "pnorm"}
    nu : float
        Scale of the logarithm, or smoothing of the p-norm.
    p : float
        Exponent of the p-norm; unused by the logarithm.
    square : bool
        Square the sum of each training patch, Eq. (10), so that no patch is left badly
        represented. Only learning looks at it.

    Examples
    --------
    >>> Penalty.log(nu=5e3)
    Penalty(form='log', nu=5000.0, p=0.0, square=False)
    >>> Penalty.pnorm().square
    True
    """

    form: Literal["log", "pnorm"]
    nu: float
    p: float = 0.0
    square: bool = False

    def __post_init__(self) -> None:
        if self.form not in ("log", "pnorm"):
            raise ValueError(f"penalty: form must be 'log' or 'pnorm', got {self.form!r}")
        if not 1e-30 < self.nu < 1e30:  # the kernels compute in float32
            raise ValueError(f"penalty: nu must be positive and between 1e-30 and 1e30, got {self.nu!r}")
        if self.form == "pnorm" and not 0 < self.p <= 1:
            raise ValueError(f"penalty: p must lie in (0, 1], got {self.p!r}; use Penalty.log for p=0")

    @classmethod
    def log(cls, nu: float = 3000.0, *, square: bool = False) -> Penalty:
        """log(1 + nu v²), summed over each patch."""
        return cls("log", float(nu), 0.0, square)

    @classmethod
    def pnorm(cls, p: float = 0.4, nu: float = 1e-6, *, square: bool = True) -> Penalty:
        """The paper's (v² + nu)^(p/2) / p, squared per patch, with the paper's p and nu."""
        return cls("pnorm", float(nu), float(p), square)

    @classmethod
    def named(cls, penalty: str | Penalty) -> Penalty:
        """A penalty given as itself or by the name of its form."""
        if isinstance(penalty, Penalty):
            return penalty
        if penalty == "log":
            return cls.log()
        if penalty == "pnorm":
            return cls.pnorm()
        raise ValueError(f"penalty: expected 'log', 'pnorm' or a cosparse.Penalty, got {penalty!r}")

    @property
    def code(self) -> int:
        """The number by which the kernels know the form."""
        return LOG if self.form == "log" else PNORM

    def to_metadata(self) -> dict[str, str]:
        """As strings, for an operator file."""
        return {
            "penalty.form": self.form,
            "penalty.nu": repr(self.nu),
            "penalty.p": repr(self.p),
            "penalty.square": str(self.square),
        }

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str]) -> Penalty:
        """The inverse of :meth:`to_metadata`."""
        form = metadata["penalty.form"]
        if form not in ("log", "pnorm"):
            raise ValueError(f"unknown penalty form {form!r}")
        return cls(
            "log" if form == "log" else "pnorm",
            float(metadata["penalty.nu"]),
            float(metadata["penalty.p"]),
            metadata["penalty.square"] == "True",
        )
