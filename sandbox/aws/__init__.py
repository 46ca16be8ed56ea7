"""An embedded AWS account: what AWS would answer, on the simulated clock."""
