"""Law: the constants that steer results are listed, each with what set it.

The list is doc/constants.csv.  The names of all others are here, by kind; those of
C loops are sizes, budgets and precisions.
"""

import ast
import csv
import numbers
from pathlib import Path

import pytest
from sources import PACKAGE, ROOT, sources

#: Folders whose constants are sizes of blocks and pictures.
ELSEWHERE = {"_simd", "dask", "datasets", "metrics", "plotting", "report", "testing"}
MOST_LISTED = 120
SETTERS = "principle", "benchmark", "literature", "judgement"
#: Names of constants that steer no result, by kind.
OTHERS = {
    "sizes of blocks, samples, tables and memories": """
        BLOCK_BYTES BLOCK_ELEMENTS CALLS_AT_ONCE COLUMNS_CHECKED COST_AT_ONCE
        ENOUGH_ROWS FAN_IN FEWEST_AT_ONCE FEWEST_ITEMS FEWEST_KEPT
        FEWEST_PARTS FEWEST_ROWS FEWEST_RUNS FEW_PARTS FEW_USERS FEW_VALUES
        ITEMS_PER_ROW LARGE LAST_BOUNDS LEAST_CAPACITY LEAST_ROWS LOOKED_AT
        MANY_COLUMNS MOST_CELLS MOST_COMPONENTS MOST_COPIED MOST_DENSE_COLUMNS
        MOST_DRAWN MOST_ENTRIES MOST_INLINE_ITERATIONS MOST_INLINE_ROWS MOST_IN_CALL
        MOST_KEPT MOST_PANEL_BYTES MOST_PARTS MOST_PREVALENCE_POINTS MOST_PRODUCTS
        MOST_RECORDS MOST_ROWS MOST_SECTIONS MOST_SPLIT_COLUMNS MOST_TERMS
        MOST_TOGETHER MOST_TOKENS MOST_USERS MOST_VALUES MOST_WORD_GROUPS NARROW_ROW
        N_POINTS N_SQUARES ONE_IN PART_BYTES PER_ROW PRODUCTS_OF_SECTION ROWS_ANALYSED
        ROWS_INSPECTED ROWS_NOTED ROWS_OF_BLOCK ROWS_PER_AXIS KMEANS_ROWS
        KMEANS_ROWS_PER_COMPONENT
        ROWS_PER_SIZE ROWS_TOGETHER SAMPLED_ROWS SLACK TOKENS_PER_BATCH
        TOKENS_PER_PIECE VALUES_OF_BLOCK WIDE
    """,
    "budgets and proposals of searches": """
        AFTER_SPLITS AT_REST BATCHES_OF_STREAM BIRTH_PASSES BIRTH_STEPS BURN_IN COPIES
        FASTEST FEWEST_EARLY FEWEST_STEPS FINISHING_STEPS FRESH_PASSES HALVINGS
        HOTTEST_START KMEANS_STEPS LEAST_GAIN LEAST_ROTATION LEAST_STEP_GAIN
        LEAST_SWEEPS LOCAL_TOL MAX_LOCAL_ITER MOST_AT_ONCE MOST_CHECKED MOST_NEGATIVE
        MOST_ROTATIONS MOST_ROUNDS MOST_STEPS MOST_SWEEPS MOVES_OF_A_PART NEAREST
        NOISE_TOL N_BURN_IN N_COMPARED N_EM N_HALVES N_HALVINGS N_ITERATIONS N_KEPT
        N_MERGES
        N_NEAREST N_NEWTON N_PERMUTATIONS N_PLACES N_ROTATIONS N_ROUNDS N_TRIALS
        OVERLAPPING OVERSAMPLING P_DEATH P_DIFFERENCE P_REMIX ROWS_OF_BIRTH SAME_BOUND
        SEED SETTLING_STEPS SHARE_COOLED SHARE_OF_EARLY SPLIT_SHARE STARTS_OF_NULL
        STEPS STEPS_OF_STARTS STEPS_ON_ALL SWEEPS TOKENS_DRAWN TOL
    """,
    "precision of numbers": """
        CERTAIN CHEBYSHEV_NODES DROP_TOL FEW_TOKENS GRADIENT_TOL GROUP_WIDTH HOTTEST
        LARGEST LARGEST_ALPHA LARGEST_COUNT LARGEST_NUMBER LARGEST_RATIO LARGEST_WEIGHT
        LARGEST_YEAR LARGE_RATE LEAST LEAST_CONCENTRATION LEAST_CURVATURE
        LEAST_DIFFERENCE LEAST_ERROR LEAST_INCLUSION LEAST_LOG
        LEAST_OVERLAP LEAST_PRECISION LEAST_PRIOR LEAST_REST LEAST_SCALE LEAST_SUMMED
        LEAST_TEMPERATURE LEAST_TOKENS LEAST_VARIANCE LONGEST_SLEEP MOST_CONDITION
        MOST_HALF_LIVES MOST_PRECISION MOST_SUMMED NEVER NORM_TOL NO_SHARE NO_VARIANCE
        NO_WEIGHT NO_WIDTH NULL_HEIGHT NULL_RATE ORDER_DECIMALS POINT PRESENT ROUNDING
        SAME_OPTIMUM SHAPES SMALLEST_COUNT SMALLEST_DECAY SMALLEST_PRIOR STEP SUM_TOL
        TAIL_STEP UNITS VANISHED
    """,
    "messages": """
        MOST_GROUPS MOST_NAMED
    """,
}


def constants():
    """Return the values of the constants of modules and classes that are numbers."""
    found = {}
    for path, (_, tree) in sources().items():
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] in ELSEWHERE or parts[-1] == "_budgets":
            continue
        classes = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
        for node in (part for body in (tree.body, *classes) for part in body):
            if isinstance(node, ast.Assign):
                found |= {f"{'.'.join(parts)}.{k}": v for k, v in values_of(node)}
    return found


def values_of(node):
    """Yield the names and values of an assignment that are numbers or tuples."""
    (target,) = node.targets[:1]
    names, values = [target], [node.value]
    if isinstance(target, ast.Tuple):
        names, values = target.elts, getattr(node.value, "elts", [])
    for name, value in zip(names, values, strict=False):
        if isinstance(name, ast.Name) and name.id.isupper():
            try:
                number = eval(ast.unparse(value), {"__builtins__": {}})
            except (NameError, AttributeError, TypeError):
                continue  # derived from others
            first = number[0] if isinstance(number, tuple) and number else number
            if isinstance(first, numbers.Real) and not isinstance(first, bool):
                yield name.id, number


@pytest.fixture(scope="module")
def listed():
    with Path(ROOT, "doc", "constants.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert all(row[2].split(" of ")[0] in SETTERS for row in rows)
    assert len(rows) <= MOST_LISTED
    return {row[0]: ast.literal_eval(row[1]) for row in rows}


def test_listed_constants_exist_with_their_values(listed):
    found = constants()
    assert listed == {name: found.get(name) for name in listed}


def test_no_constant_is_missing(listed):
    others = set(" ".join(OTHERS.values()).split())
    missing = [name for name in constants() if name not in listed]
    assert [name for name in missing if name.rpartition(".")[2] not in others] == []
