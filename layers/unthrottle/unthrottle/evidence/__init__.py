"""What was read before anything was concluded: series with their gaps, settings, and where each came from."""
