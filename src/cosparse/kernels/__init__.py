"""The numbers: no checks, no objects, one vocabulary in `reference` (the definition) and `fused` (the fast twin).

Vocabulary: `atoms` is the k x n operator, `weights` the k factors of its atoms, `code, nu, p` the penalty
(:mod:`cosparse.penalty`), `stride` the (vertical, horizontal) step between patches, `patch` the patch's
(height, width).
"""
