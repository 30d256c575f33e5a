"""Admission webhooks: which are called for a write, with what, and what their answers do.

Behaviour: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/ ; the steps are
those of k8s.io/apiserver ``pkg/admission/plugin/webhook``. Start at :mod:`freehold_apiserver.admission.dispatch`.
"""
