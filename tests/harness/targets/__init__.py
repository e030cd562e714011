"""Wrong systems under test: each is the real one with a single fault, which the harness must find."""
