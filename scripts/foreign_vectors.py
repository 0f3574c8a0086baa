"""Write the vectors of the foreign questions under the bundled model: src/memoriter/backends/foreign_vectors.json.

    just foreign-vectors

An index with the bundled model then measures its calibration without computing them. Run it after a change of
`FOREIGN_QUESTIONS` or of the bundled model, and raise `VERSION` in `backends/_calibrating.py`.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from memoriter.backends._foreign_vectors import FILE, dumps, questions
from memoriter.embed import embed_in_batches, open_provider


def main() -> None:
    """Compute the vectors and write the file."""
    with TemporaryDirectory() as scratch:
        provider = open_provider("bundled", cache_dir=Path(scratch))
        rows = [row for batch in embed_in_batches(provider, questions(), role="query") for row in batch.vectors]
        FILE.write_text(dumps(provider.spec, np.array(rows)), encoding="utf-8")
        provider.close()


if __name__ == "__main__":
    main()
