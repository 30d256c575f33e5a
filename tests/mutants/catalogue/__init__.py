"""The list, by room."""

from mutants.catalogue import clouds_ibm, kube, operator, reconcilers

MUTANTS = (*operator.MUTANTS, *kube.MUTANTS, *reconcilers.MUTANTS, *clouds_ibm.MUTANTS)
