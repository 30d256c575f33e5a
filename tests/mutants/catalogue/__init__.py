"""The list of mutants, by folder of the sources."""

from mutants.catalogue import clouds_ibm, given, kube, lifecycle, operator, reconcilers, tagging

MUTANTS = (
    *operator.MUTANTS,
    *kube.MUTANTS,
    *reconcilers.MUTANTS,
    *clouds_ibm.MUTANTS,
    *given.MUTANTS,
    *lifecycle.MUTANTS,
    *tagging.MUTANTS,
)
