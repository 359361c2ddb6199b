"""From patches to an operator: the objective of Eq. (opt_prob) and its minimisation."""

from cosparse.learning.goal import LearnProgress, LearnResult, learn_operator

__all__ = ["LearnProgress", "LearnResult", "learn_operator"]
