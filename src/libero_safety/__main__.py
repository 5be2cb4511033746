"""`python -m libero_safety` is `libero-safety`."""

import sys

from libero_safety.cli import main

sys.exit(main())
