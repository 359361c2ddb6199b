"""Learn an analysis operator from example images and repair images with it."""

from cosparse._version import __version__
from cosparse.learning import LearnProgress, LearnResult, learn_operator
from cosparse.operator import AnalysisOperator, load_operator
from cosparse.optimize import Settings, Stop
from cosparse.patches import sample_patches
from cosparse.penalty import Penalty

__all__ = [
    "AnalysisOperator",
    "LearnProgress",
    "LearnResult",
    "Penalty",
    "Settings",
    "Stop",
    "__version__",
    "learn_operator",
    "load_operator",
    "sample_patches",
]
