"""Write the vectors of the foreign questions and tasks under the bundled model, in src/memoriter/backends.

    just foreign-vectors

An index with the bundled model then measures its calibration without computing them, and long-term memories are
recalled by a measured limit. Run it after a change of `FOREIGN_QUESTIONS`, of `FOREIGN_TASKS` or of the bundled model;
for questions and model, raise `VERSION` in `backends/_calibrating.py`.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from memoriter.backends._foreign_vectors import FILE, TASKS_FILE, dumps, questions, tasks
from memoriter.embed import embed_in_batches, open_provider


def main() -> None:
    """Compute the vectors and write the files."""
    with TemporaryDirectory() as scratch:
        provider = open_provider("bundled", cache_dir=Path(scratch))
        for file, texts in ((FILE, questions()), (TASKS_FILE, tasks())):
            rows = [row for batch in embed_in_batches(provider, texts, role="query") for row in batch.vectors]
            file.write_text(dumps(provider.spec, texts, np.array(rows)), encoding="utf-8")
        provider.close()


if __name__ == "__main__":
    main()
