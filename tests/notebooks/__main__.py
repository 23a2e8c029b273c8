"""`python -m tests.notebooks [01 …]`: run notebooks afresh and keep what they show; after a change of theirs or of the pictures."""

from __future__ import annotations

import sys

import nbformat

from tests.notebooks.running import NOTEBOOKS, executed

if __name__ == "__main__":
    for path in NOTEBOOKS:
        if len(sys.argv) == 1 or path.stem[:2] in sys.argv[1:]:
            nbformat.write(executed(path), path)
            print(path.name)
