"""From patches to an operator: the objective of Eq. (17) and its minimisation."""

from cosparse.learning.goal import LearnProgress, LearnResult, learn_operator

__all__ = ["LearnProgress", "LearnResult", "learn_operator"]
