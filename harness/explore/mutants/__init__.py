"""The kill score: deliberately wrong implementations of the runtime, and the proof that each one is caught."""
