"""Displays of fits, topics and components, with scikit-learn's display interface."""

from ._components import ComponentsDisplay
from ._critical import CriticalTemperaturesDisplay
from ._curve import TrainingCurveDisplay
from ._document import DocumentDisplay
from ._ellipses import MixtureEllipsesDisplay
from ._layout import topic_map_layout
from ._number import NumberOfComponentsDisplay
from ._prevalence import TopicPrevalenceDisplay
from ._profiles import ClassProfilesDisplay
from ._shares import topic_shares
from ._stream import StreamDisplay
from ._temperature import TemperatureDisplay
from ._topic_map import TopicMapDisplay
from ._topic_words import TopicWordsDisplay

__all__ = [
    "ClassProfilesDisplay",
    "ComponentsDisplay",
    "CriticalTemperaturesDisplay",
    "DocumentDisplay",
    "MixtureEllipsesDisplay",
    "NumberOfComponentsDisplay",
    "StreamDisplay",
    "TemperatureDisplay",
    "TopicMapDisplay",
    "TopicPrevalenceDisplay",
    "TopicWordsDisplay",
    "TrainingCurveDisplay",
    "topic_map_layout",
    "topic_shares",
]
