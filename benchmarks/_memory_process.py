"""A process that only searches, and prints its peak memory; it reads the request from stdin."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    request = json.load(sys.stdin)
    from memoriter import Memory

    with Memory.open(request["notes"], home=request["home"]) as memory:
        for question in request["questions"]:
            memory.search(question)
    json.dump({"peak_mb": peak_mb()}, sys.stdout)


def peak_mb() -> float:
    """The most that this program count at any moment, in MB.

    On Linux, `getrusage` also counts the memory of the process before `exec`, so `/proc` comes first.
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
