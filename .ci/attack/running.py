"""Runs of a surface's cases in a process of their own."""

import faulthandler
import importlib
import logging
import traceback
import warnings
from pathlib import Path

from common import Draws
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test


def run(module, name, start, n, limit, verbose, counts):
    """Run cases of a surface; ``counts`` gets the numbers of cases and of findings."""
    surface = importlib.import_module(module).SURFACES[name]
    phases = [Phase.generate]
    if module != "faults":  # their cases take seconds
        phases.append(Phase.shrink)
    options = settings(
        max_examples=n,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        stateful_step_count=10,
        verbosity=Verbosity.verbose if verbose else Verbosity.normal,
    )
    warnings.simplefilter("ignore")
    logging.disable()

    def begin():
        counts[0] += 1
        faulthandler.dump_traceback_later(limit, exit=True)

    @seed(start)
    def machine():
        begin()
        return surface()

    @seed(start)
    @options
    @given(st.data())
    def case(data):
        begin()
        surface(Draws(data))

    try:
        if isinstance(surface, type):
            run_state_machine_as_test(machine, settings=options)
        else:
            case()
    except Exception as error:
        errors = getattr(error, "exceptions", [error])
        counts[1] = len(errors)
        for error in errors:
            where = traceback.extract_tb(error.__traceback__)[-1]
            file = Path(where.filename).name
            print(f"\n{name}, --seed {start} --n {n}, {file}:{where.lineno}")
            print("".join(traceback.format_exception(error, limit=-4)), flush=True)
    finally:
        faulthandler.cancel_dump_traceback_later()
