"""Copies of large files that take little room: blocks shared where the file system can, and holes kept as holes.

A copy that shares blocks (a reflink: btrfs, XFS, bcachefs, ZFS) costs nothing until one of the two is written, and then
only what is written. Elsewhere the kernel copies the parts of a file that hold data; what a sparse file leaves out is
left out of the copy, too.
"""

import errno
import fcntl
import os
import shutil
from typing import BinaryIO

FICLONE = 0x4004_9409
"""Linux's `FICLONE` of <linux/fs.h>, the same on all machines that sandboxes run on."""
BLOCK = 1 << 20
AT_ONCE = 1 << 30
"""Bytes that the kernel copies in one go: in between, the copy can be interrupted."""
NO_SUCH_WAY = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV, errno.ENOTTY, errno.EPERM, errno.EBADF)
"""What a kernel or a file system says that cannot share blocks, copy by itself, or find holes."""


def copy_content(reading: BinaryIO, writing: BinaryIO) -> None:
    """Copy a file's content into another one, which is empty.

    Args:
        reading: The file, at its beginning.
        writing: Where it goes; nothing of it is left in a buffer afterwards.

    Raises:
        OSError: it cannot be read or written.
    """
    source, target = reading.fileno(), writing.fileno()
    if _share_blocks(source, target):
        return
    try:
        first = os.lseek(source, 0, os.SEEK_DATA)
        if os.lseek(source, first, os.SEEK_HOLE) <= first:  # a device
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole, or empty
            os.ftruncate(target, os.fstat(source).st_size)
            return
        reading.seek(0)  # something that knows no holes
        shutil.copyfileobj(reading, writing, BLOCK)
        writing.flush()
        return
    end = 0
    while first >= 0:
        end = os.lseek(source, first, os.SEEK_HOLE)
        _copy_range(source, target, first, end)
        try:
            first = os.lseek(source, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            first = -1
    os.ftruncate(target, max(end, os.fstat(source).st_size))


def _share_blocks(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError as error:
        if error.errno in NO_SUCH_WAY:
            return False
        raise
    return True


def _copy_range(source: int, target: int, start: int, end: int) -> None:
    """Copy a part of a file to the same place of another."""
    by_kernel = hasattr(os, "copy_file_range")
    while start < end:
        if by_kernel:
            try:
                copied = os.copy_file_range(source, target, min(end - start, AT_ONCE), start, start)
            except OSError as error:
                if error.errno not in NO_SUCH_WAY:
                    raise
                by_kernel = False
                continue
        else:
            piece = os.pread(source, min(end - start, BLOCK), start)
            copied = os.pwrite(target, piece, start) if piece else 0
        if not copied:  # it has become shorter meanwhile
            return
        start += copied
