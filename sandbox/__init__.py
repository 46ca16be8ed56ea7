"""An embedded AWS account, Slack and dagy in which the real handlers run."""
