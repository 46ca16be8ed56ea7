"""What do the scenario's loads do to the account in one minute, and what does CloudWatch see of it?

One tick is a minute. The pool shares Lambda concurrency, the tables serve capacity units, and both publish metrics with
AWS's names, dimensions and gaps. The model reads the account's records and changes nothing in it, autoscaling excepted.
"""
