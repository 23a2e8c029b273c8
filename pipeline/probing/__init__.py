"""Streams looked at, stage by stage: what passed, what caused it, what it cost; drawn as marbles, told as a table."""

from pipeline.probing._explain import Explained, StageCost, explain
from pipeline.probing._marbles import Marbles, Theme
from pipeline.probing._probe import Probe, probe

__all__ = ["Explained", "Marbles", "Probe", "StageCost", "Theme", "explain", "probe"]
