"""Bug reports as scenarios: what was sent and what came back, read from what people paste, and rebuilt as a world."""
