"""Foundations of the models: exponential families and their natural parameters."""
