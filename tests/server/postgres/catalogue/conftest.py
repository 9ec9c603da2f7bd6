"""The modules beside the tests of the catalogue, under their own names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
