"""Heal throttling in an AWS account: find the cause, do the one right thing, verify, put it back, report."""
