"""The `unthrottle` command."""
