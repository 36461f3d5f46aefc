"""Displays of fits, topics and components, with scikit-learn's display interface."""

from ._fits import (
    CriticalTemperaturesDisplay,
    NumberOfComponentsDisplay,
    StreamDisplay,
    TemperatureDisplay,
    TrainingCurveDisplay,
)
from ._mixtures import (
    ClassProfilesDisplay,
    ComponentsDisplay,
    MixtureEllipsesDisplay,
    TemperaturePathDisplay,
)
from ._shares import (
    TopicEffectsDisplay,
    TopicPrevalenceDisplay,
    WordContrastsDisplay,
    topic_shares,
)
from ._topics import (
    DocumentDisplay,
    TopicMapDisplay,
    TopicWordsDisplay,
    topic_map_layout,
)

__all__ = [
    "ClassProfilesDisplay",
    "ComponentsDisplay",
    "CriticalTemperaturesDisplay",
    "DocumentDisplay",
    "MixtureEllipsesDisplay",
    "NumberOfComponentsDisplay",
    "StreamDisplay",
    "TemperatureDisplay",
    "TemperaturePathDisplay",
    "TopicEffectsDisplay",
    "TopicMapDisplay",
    "TopicPrevalenceDisplay",
    "TopicWordsDisplay",
    "TrainingCurveDisplay",
    "WordContrastsDisplay",
    "topic_map_layout",
    "topic_shares",
]
