"""Every tempering, learning rate and noise, with our priors and batches."""

from common import compare_topics, figure, plain

from sktemper.learning_rates import AdaptiveRate
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import ExponentialSchedule, LinearSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering


def annealed(schedule=ExponentialSchedule, target="local_step", **changes):
    return plain(tempering=Annealing(schedule(**changes), target))


def updated(doc_update, tempering):
    return {"tempering": tempering, "doc_update": doc_update}


@figure("policies")
def policies(run):
    """LDA: every tempering, learning rate and noise against plain inference."""
    settings = {
        "plain": plain(),
        "annealed": annealed(),
        **{f"annealed from {start}": annealed(start=start) for start in (1.5, 2, 3, 5)},
        # the default length, "auto", is half of the steps of such short fits: 5 passes
        "annealed, 2.5 passes": annealed(length=2.5, unit="passes"),
        "annealed, 10 passes": annealed(length=10, unit="passes"),
        "annealed, linear": annealed(LinearSchedule),
        "annealed, likelihood": annealed(target="likelihood"),
        "annealed, posterior": annealed(target="posterior"),
        "global": plain(tempering=GlobalTempering()),
        "global, model's priors": plain(
            tempering=GlobalTempering(partition_priors=None)
        ),
        "global, no cap": plain(tempering=GlobalTempering(cap=None)),
        "local": plain(tempering=LocalTempering()),
        "SVI+": plain(gradient_noise=SVIPlusNoise()),
        "Fisher rate": plain(learning_rate=AdaptiveRate()),
        "plain, sampled": updated("sampled", None),
        "annealed, auto": updated("auto", Annealing()),
        "annealed, sampled": updated("sampled", Annealing()),
        "global, auto": updated("auto", GlobalTempering()),
        "global, sampled": updated("sampled", GlobalTempering()),
    }
    compare_topics(run, settings, n_components=run.size(100, 10))
