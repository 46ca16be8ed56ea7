"""What people are told: one incident's record turned into Slack messages, a page, and terminal text. Pure.

Start with `moments`: which steps are told, and how each looks in Slack.
"""
