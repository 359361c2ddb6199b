"""The tab Look inside: what the operator is like, and what it sees in the picture."""

from __future__ import annotations

from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from cosparse.kernels import reference
from cosparse.operator import AnalysisOperator
from cosparse.penalty import Penalty
from cosparse.studio import chart
from cosparse.studio.page_pictures import reduced, reduction
from cosparse.studio.parts import Studio, Update, operator_choices, operator_menu, plain
from cosparse.studio.session import Session

MAP_PIXELS = 70_000  # every atom answers at every pixel at once: 70 MB for 128 atoms
NO_PICTURE = '<div class="placeholder">Choose a picture in Repair, and see here where the operator responds.</div>'
NO_ENERGY = '<div class="placeholder">Trained steps minimise no energy; the operator "default" does.</div>'
NO_RUN = '<div class="placeholder">Repair a picture, and see here how its energy fell.</div>'


class InsideTab:
    """Its parts and what they do."""

    def __init__(self, studio: Studio, tab: Any) -> None:
        plain(
            '<p class="lead">An operator is a set of small patterns, its atoms. On a patch of a natural picture nearly '
            "all of them answer with almost nothing. Noise, holes and blur make many answer: repairing a picture means "
            "looking for the one that fits what is known and leaves as many atoms silent as possible.</p>"
        )
        self.operator = operator_menu("inside-operator")
        self.status = plain("")
        with gr.Row(equal_height=False):
            with gr.Column(min_width=320):
                plain('<h2 class="card-title">Atoms</h2>')
                self.atoms = plain("", elem_id="inside-atoms")
            with gr.Column(min_width=320):
                plain('<h2 class="card-title">Singular values</h2>')
                self.values = plain("", elem_id="inside-values")
        plain('<h2 class="card-title">Where the operator responds</h2>')
        self.map = plain(NO_PICTURE, elem_id="inside-map")
        plain('<h2 class="card-title">Energy of the last repair</h2>')
        self.energy = plain(NO_RUN, elem_id="inside-energy")
        outputs = [self.operator, self.atoms, self.values, self.map, self.energy]
        for event in (self.operator.input, tab.select):
            studio.on(self.status, event, self.show, [self.operator], outputs)

    def show(self, session: Session, name: str) -> Update:
        """Draw everything for the chosen operator and the page's picture."""
        operator = session.operator(name)
        said = (
            f"Condition {operator.condition:.2f}: the largest over the smallest; 1 treats all patches alike. "
            f"Coherence {operator.coherence:.2f}: how alike the two most similar atoms are."
        )
        curve = chart.line(operator.singular_values.tolist(), x="number", y="singular value", zero=True)
        energies = session.result.energies if session.result else []
        nothing = NO_ENERGY if session.result else NO_RUN
        return {
            self.operator: gr.update(choices=operator_choices(session)),
            self.status: "",
            self.atoms: chart.atoms(operator, "From smooth to fine; grey is zero."),
            self.values: chart.captioned(curve, said),
            self.map: _maps(session, operator),
            self.energy: chart.line(energies, x="iteration", y="energy") or nothing,
        }


def _maps(session: Session, operator: AnalysisOperator) -> str:
    if session.source is None:
        return NO_PICTURE
    shown = [("Before", responses(operator, session.source.picture.working))]
    if session.result is not None:
        shown.append(("After the repair", responses(operator, session.result.picture.working)))
    top = float(np.percentile(shown[0][1], 99.5)) or 1.0
    figures = ""
    for title, values in shown:
        drawn = chart.picture(chart.heat(values / top), f"Map of the responses, {title}")
        figures += chart.captioned(drawn, f"{title}: {values.mean():.0f} on average")
    return f'<div class="pair">{figures}</div><div class="scale">silent <i></i> loud</div>'


def responses(operator: AnalysisOperator, work: NDArray[Any]) -> NDArray[np.float64]:
    """How much of the prior's energy the patch around each pixel has, on a picture small enough to show.

    >>> bool(responses(AnalysisOperator.dct(4), np.full((9, 9), 50, np.float32)).max() < 1e-6)  # flat: silent
    True
    """
    grey = work if work.ndim == 2 else work.mean(axis=-1)
    small, _ = reduced(grey, reduction(grey.size, MAP_PIXELS))
    answers = operator.as_linear_operator((small.shape[0], small.shape[1])).matvec(small.ravel().astype(float))
    penalty = Penalty.log(0.1)
    phi, _ = reference.penalise(answers.reshape(*small.shape, -1), penalty.code, penalty.nu, penalty.p)
    return np.asarray(phi @ operator.weights.astype(float))
