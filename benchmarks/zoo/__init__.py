"""The zoo: fits with defaults to many data sets, by this package and by other packages.

    python benchmarks/zoo run                  # fits by this package, development split
    python benchmarks/zoo run --methods all    # fits by all packages
    python benchmarks/zoo table                # print tables of all cached results
    python benchmarks/zoo run --help

The modules: `core` has the data classes, `running` runs each fit in a new process,
`cache` stores the results, `tables` writes them, `measures` has the figures of merit of
several families, and `families` has a file for each family of data sets. The page
``doc/benchmarks/zoo.md`` explains how to run and extend the zoo.
"""
