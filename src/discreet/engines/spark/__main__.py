"""`python -m discreet.engines.spark` makes later starts of `spark://local` on this machine take half as long."""

from __future__ import annotations

import sys

from discreet.engines.spark._rehearsal import make_archive
from discreet.errors import DiscreetError

if __name__ == "__main__":
    try:
        archive = make_archive()
    except DiscreetError as error:
        sys.exit(str(error))
    size = archive.stat().st_size >> 20
    sys.stdout.write(f"{archive}: {size} MB. Sessions of spark://local start from it; delete it at will.\n")
