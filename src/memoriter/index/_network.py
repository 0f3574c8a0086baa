"""Whether a folder lies on a network file system, where SQLite's write-ahead log must not be used."""

from __future__ import annotations

from pathlib import Path

# fmt: off
_NETWORK = frozenset({
    "9p", "acfs", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs",
    "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs",
    "smb", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
})
# fmt: on
_LOCAL_FUSE = frozenset({"fuseblk", "fuse.ntfs-3g", "fuse.exfat", "fuse.ext2", "fuse.fuse-overlayfs"})


MOUNTS = Path("/proc/mounts")


def on_network(folder: Path, mounts: Path = MOUNTS) -> bool:
    """True when the mount that holds `folder` is a network file system; False where mounts cannot be listed."""
    return bool(network_of(folder, mounts))


def network_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """The kind of network file system that holds `folder` (`nfs4`, `cifs`); empty for a local disk.

    The folder need not exist. Where mounts cannot be listed, only the paths of Windows shares are known.
    """
    if str(folder).startswith(("\\\\", "//")):
        return "share"
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        home = folder.resolve()
    except OSError:
        return ""
    kind = _kind(home, lines)
    return kind if _remote(kind) else ""


def _kind(home: Path, lines: list[str]) -> str:
    best, kind = -1, ""
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        mount = Path(_unescaped(fields[1]))
        # A later line of the same mount point lies over an earlier one.
        if len(mount.parts) >= best and home.is_relative_to(mount):
            best, kind = len(mount.parts), fields[2]
    return kind


def _unescaped(field: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field


def _remote(kind: str) -> bool:
    return kind in _NETWORK or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
