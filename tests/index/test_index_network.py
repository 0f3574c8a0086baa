from __future__ import annotations

from pathlib import Path

import pytest

from memoriter.index import network_of
from memoriter.index._files import on_network

MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb /home/me/local ext4 rw 0 0
//box/share /mnt/my\\040share cifs rw 0 0
me@box: /mnt/ssh fuse.sshfs rw 0 0
/dev/sdc1 /mnt/usb fuseblk rw 0 0
/dev/sdd /srv ext4 rw 0 0
server:/srv /srv nfs rw 0 0
broken line
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/var/lib", False),
        ("/home/me", True),
        ("/homeless", False),
        ("/home/me/local/x", False),
        ("/mnt/my share/x", True),
        ("/mnt/ssh", True),
        ("/mnt/usb", False),
        ("/srv/x", True),
        ("//server/share", True),
    ],
)
def test_the_innermost_mount_decides(tmp_path, folder, expected):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert on_network(Path(folder), mounts) is expected


def test_where_mounts_cannot_be_listed_a_folder_counts_as_local(tmp_path):
    assert on_network(tmp_path, tmp_path / "nothing") is False


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/home/me/not/there/yet", "nfs4"), ("/mnt/ssh", "fuse.sshfs"), ("/var", ""), ("//a/b", "share")],
)
def test_the_kind_of_network_file_system_is_told(tmp_path, folder, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert network_of(Path(folder), mounts) == kind
