"""What each Lambda function does with an event: one module a function, joined to the real adapters by `wiring`."""
