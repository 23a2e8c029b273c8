"""Pictures of how streams went in time, one or several compared; and their events as a data frame."""

from pipeline.plots._gaps import gaps
from pipeline.plots._rate import rate
from pipeline.plots._timed import Timed
from pipeline.plots._timeline import timeline
from pipeline.plots._to_dataframe import to_dataframe

__all__ = ["Timed", "gaps", "rate", "timeline", "to_dataframe"]
