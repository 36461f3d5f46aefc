"""The zoo: many data sets of many shapes, fitted with defaults by us and by peers.

    python benchmarks/zoo run                  # our fits of the development split
    python benchmarks/zoo run --methods all    # and those of peers
    python benchmarks/zoo table                # print the tables of what is cached
    python benchmarks/zoo run --help

The modules: `core` has the data classes, `running` runs each fit in a process of its
own, `cache` keeps the results, `tables` writes them, `measures` has figures of merit
that families share, and `families` has a file for each family of data sets. The page
``doc/benchmarks/zoo.md`` explains how to run and extend the zoo.
"""
