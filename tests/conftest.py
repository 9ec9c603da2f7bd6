"""Settings that every test shares."""

from __future__ import annotations

import os

from hypothesis import settings

# No deadline: a slow machine is no bug. In CI the examples are fixed, so that red means the change is to blame.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
