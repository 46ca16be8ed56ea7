"""Measure what the README claims. `python -m bench` prints every figure with what it was measured on."""
