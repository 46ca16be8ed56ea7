"""Where is an account exposed, and what would Unthrottle have done in its past? Reads only, and says what it could not see."""
