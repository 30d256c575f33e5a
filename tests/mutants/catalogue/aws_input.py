"""Safety lines of an AWSCluster's checks: what is refused before anything is created, and what a refusal of AWS says."""

from functools import partial

from mutants.rows import Mutant

_wish_input = partial(Mutant, "reconcilers/aws_cluster/wish_input.py")
_decide = partial(Mutant, "reconcilers/aws_cluster/decide.py")

MUTANTS = (
    _decide(
        "decide",
        "if problems := tuple(wish_input.check(spec, wish, facts)):",
        "if problems := ():",
        "a cluster is made that AWS refuses halfway, or that nobody can reach",
    ),
    _wish_input(
        "_nat_gateways",
        "if wish.nat_gateways:",
        "if True:",
        "a rule for the addresses of NAT gateways that are not there is dropped, and nobody reaches the API server",
    ),
)
