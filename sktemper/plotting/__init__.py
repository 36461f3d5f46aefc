"""Displays of fits, topics and components, with scikit-learn's display interface."""

from ._components import ComponentsDisplay
from ._critical import CriticalTemperaturesDisplay
from ._document import DocumentDisplay
from ._ellipses import MixtureEllipsesDisplay
from ._history import TemperatureDisplay, TrainingCurveDisplay
from ._number import NumberOfComponentsDisplay
from ._prevalence import TopicPrevalenceDisplay, topic_shares
from ._profiles import ClassProfilesDisplay
from ._stream import StreamDisplay
from ._topic_effects import TopicEffectsDisplay
from ._topic_map import TopicMapDisplay, topic_map_layout
from ._topic_words import TopicWordsDisplay
from ._word_contrasts import WordContrastsDisplay

__all__ = [
    "ClassProfilesDisplay",
    "ComponentsDisplay",
    "CriticalTemperaturesDisplay",
    "DocumentDisplay",
    "MixtureEllipsesDisplay",
    "NumberOfComponentsDisplay",
    "StreamDisplay",
    "TemperatureDisplay",
    "TopicEffectsDisplay",
    "TopicMapDisplay",
    "TopicPrevalenceDisplay",
    "TopicWordsDisplay",
    "TrainingCurveDisplay",
    "WordContrastsDisplay",
    "topic_map_layout",
    "topic_shares",
]
