"""003: the earlier version of 001; VT is called multicanonical inference (MVI)."""

import paper001
from common import figure
from matplotlib.figure import Figure
from scipy.special import softmax

from sktemper import TemperedLDA
from sktemper.tempering import GlobalTempering


@figure("003.fig2")
def distributions(run):
    """q over temperatures of one abstract: the higher its likelihood, the colder."""
    ((_, corpus),) = run.texts("debian")
    picture = Figure(layout="constrained")
    ax = picture.subplots()
    # log C of the model's priors, and the distribution for a document of 100 words
    tempering = GlobalTempering(max_temperature=10)
    lda = TemperedLDA(20, tempering=tempering, max_iter=1, random_state=0)
    state = lda.fit(corpus.train).state_.policies.tempering
    T = 1 / state.inverse_temperatures
    for score in (-11.45, -8.17, -6.54, -5.52):
        r = softmax(100 * (score / T - state.log_partition))
        print(f"  log-likelihood per word {score:7.2f}: T={T[r.argmax()]:5.2f}")
        ax.plot(T, r, label=f"{score} per word")
    ax.set(xlabel="T", ylabel="q(T)", xscale="log")
    ax.legend()
    run.save(picture)


@figure("003.fig3")
def topics(run):
    """LDA: MVI beats SVI like the best AVI; its temperature is not monotone."""
    paper001.topics(run, local=False)
