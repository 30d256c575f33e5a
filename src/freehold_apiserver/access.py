"""Access reviews. There is no authorization here: who has the token may do everything."""

from __future__ import annotations

from typing import Any

from freehold_apiserver import errors
from freehold_apiserver.store import Json

GROUP = "authorization.k8s.io"
REVIEWS = f"/apis/{GROUP}/v1/selfsubjectaccessreviews"
_KIND = "SelfSubjectAccessReview"


def access_review(body: Any) -> Json:
    """Return the review with its status filled in. Raises 400 when the body is not a review."""
    if not isinstance(body, dict) or body.get("kind", _KIND) != _KIND or not isinstance(body.get("spec"), dict):
        raise errors.bad_request(f"the body of the request is not a {_KIND} with a spec")
    allowed = {"allowed": True, "reason": "the embedded API server has no authorization"}
    return {"kind": _KIND, "apiVersion": f"{GROUP}/v1", "metadata": {}, "spec": body["spec"], "status": allowed}
