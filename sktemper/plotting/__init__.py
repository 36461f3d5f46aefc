"""Pictures of a training: displays by scikit-learn's conventions."""

from ._curve import TrainingCurveDisplay
from ._temperature import TemperatureDisplay

__all__ = ["TemperatureDisplay", "TrainingCurveDisplay"]
