"""The post-mortem's incident and dagy's two troubles, played with the real bot and told as they happen."""
