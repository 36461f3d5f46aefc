"""Laws: statements about all estimators and results, checked on drawn data.

Each module has one law, which its docstring states.  A law takes its subjects from
`laws.registry` and its draws from `laws.draws`; a new row of the registry is under all
laws.  Judges are independent of the package: quadrature, mpmath, enumeration, SciPy,
statsmodels, or simulation.
"""
