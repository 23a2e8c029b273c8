"""The command line: `rxchat`, or `python -m pipeline`."""

from __future__ import annotations

from pipeline.commands import main

if __name__ == "__main__":
    main()
