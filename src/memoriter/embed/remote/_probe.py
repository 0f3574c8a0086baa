"""Texts that probe an unknown model: a dozen notes about a dozen topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PROBE = (
    "The tomatoes on the balcony need water twice a day in July, otherwise the leaves curl before noon.",
    "We moved the nightly backup to three o'clock because the old slot collided with the report.",
    "Her flight lands in Lisbon on Thursday evening and the rental car is already paid.",
    "The violin teacher asked for slower scales and a looser wrist in the second position.",
    "Invoices above five thousand euros are signed by two people and kept for ten years.",
    "After the marathon his left knee hurt for a week, so the doctor ordered rest and cold packs.",
    "The compiler warns about an unused variable in the parser, which hides the real mistake.",
    "Grandmother's dumplings want cabbage, a little ginger and dough that rested for an hour.",
    "The council voted to close the bridge for lorries until the cracks have been measured.",
    "Jupiter is bright in the east these nights; four of its moons can be seen through binoculars.",
    "The cat sleeps on the router since it is the warmest place in the flat.",
    "In the third chapter the lighthouse keeper finds the letter that his brother never sent.",
)
_LEAST_DEVIATION = 0.02
"""Lower limit, because there are few pairs: with a smaller deviation, a chance similarity would look like a match."""


def background_of(vectors: NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean and standard deviation of the cosine of two unrelated texts.

    Args:
        vectors: rows of unit length, one for each text of the probe.
    """
    import numpy as np

    above = np.triu_indices(len(vectors), 1)
    cosines = (vectors.astype(np.float64) @ vectors.T.astype(np.float64))[above]
    return round(float(cosines.mean()), 3), round(max(float(cosines.std()), _LEAST_DEVIATION), 3)
