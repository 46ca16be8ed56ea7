"""How does the workflow wait, when time is simulated?

Two engines with one face: `simulated` replays the workflow by itself, `durable` plays the Lambda durable service for the
real SDK. `api` answers the Lambda calls by which the bot starts executions and answers their questions.
"""
