"""Does the bot keep its promises whatever breaks?

Plays short scenarios again and again, each time with one call to AWS, Slack or dagy broken in one way, and checks after each
run what must hold after any (`invariants`). `python -m scripts.faults` is the command; `docs/faults.md` has the figures.
"""
