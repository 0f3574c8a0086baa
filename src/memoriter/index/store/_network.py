"""Network file systems, on which several machines may not share the log of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.permissions import MOUNTS, file_system_of

if TYPE_CHECKING:
    from pathlib import Path

# fmt: off
_NETWORK = frozenset({
    "9p", "acfs", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs",
    "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs",
    "smb", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
})
# fmt: on
_LOCAL_FUSE = frozenset({"fuseblk", "fuse.ntfs-3g", "fuse.exfat", "fuse.ext2", "fuse.fuse-overlayfs"})


def on_network(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Return whether `folder` is on a network file system; False if mounts cannot be listed."""
    return bool(network_of(folder, mounts))


def network_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of network file system that holds `folder` (`nfs4`, `cifs`); empty for a local disk.

    The folder need not exist. If mounts cannot be listed, only the paths of Windows shares are recognized.
    """
    if str(folder).startswith(("\\\\", "//")):
        return "share"
    kind = file_system_of(folder, mounts)
    is_network = kind in _NETWORK or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
    return kind if is_network else ""
