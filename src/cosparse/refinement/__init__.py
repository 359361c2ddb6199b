"""Train an operator for the task it will be used for."""

from cosparse.refinement.train import refine_operator
from cosparse.refinement.training import RefineProgress, RefineResult

__all__ = ["RefineProgress", "RefineResult", "refine_operator"]
