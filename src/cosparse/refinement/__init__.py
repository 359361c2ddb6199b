"""Train an operator for the task it will be used for."""

from cosparse.refinement.train import RefineProgress, RefineResult, refine_operator

__all__ = ["RefineProgress", "RefineResult", "refine_operator"]
