"""A process that only searches, and says how much memory that took; it is told what to do on standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    told = json.load(sys.stdin)
    from memoriter import Memory

    with Memory.open(told["notes"], home=told["home"]) as memory:
        for question in told["questions"]:
            memory.search(question)
    json.dump({"peak_mb": peak_mb()}, sys.stdout)


def peak_mb() -> float:
    """The most that this program held at any moment, in MB.

    `getrusage` would count what the process was before it became this program, so Linux' own figure comes first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


if __name__ == "__main__":
    main()
