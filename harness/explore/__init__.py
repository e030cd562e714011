"""Means to find faults that nobody wrote down: canaries, twins, shuffled seeds, budget edges, generated worlds."""
