"""Detection of network file systems, where SQLite's write-ahead log must not be used."""

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
    """Return whether `folder` is on a network file system; False if mounts cannot be listed."""
    return bool(network_of(folder, mounts))


def network_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of network file system that holds `folder` (`nfs4`, `cifs`); empty for a local disk.

    The folder need not exist. If mounts cannot be listed, only the paths of Windows shares are recognized.
    """
    if str(folder).startswith(("\\\\", "//")):
        return "share"
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        resolved = folder.resolve()
    except OSError:
        return ""
    kind = _mount_kind(resolved, lines)
    return kind if _is_network(kind) else ""


def _mount_kind(folder: Path, lines: list[str]) -> str:
    best, kind = -1, ""
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        mount = Path(_unescape(fields[1]))
        # A later line for the same mount point replaces an earlier one.
        if len(mount.parts) >= best and folder.is_relative_to(mount):
            best, kind = len(mount.parts), fields[2]
    return kind


def _unescape(field: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field


def _is_network(kind: str) -> bool:
    return kind in _NETWORK or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
