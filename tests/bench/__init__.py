"""What the project costs, beside the floor and beside what one would use instead: `python -m tests.bench`."""
