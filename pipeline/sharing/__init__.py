"""Many sinks on one stream, each at its own pace."""

from pipeline.sharing._policies import Paced, block, coalesce, drop_oldest, latest
from pipeline.sharing._share_to import share_to

__all__ = ["Paced", "block", "coalesce", "drop_oldest", "latest", "share_to"]
