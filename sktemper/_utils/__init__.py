"""Tools that every layer may use: arguments, validation, linear algebra, threads."""
