# The operator's image. Build it with `make image`, which passes version and revision from git.
# To build the same again, name the base by its digest: --build-arg BASE=python:3.11-slim-bookworm@sha256:...
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements requirements
RUN python -m venv /opt/build
RUN /opt/build/bin/python -m pip install --require-hashes --requirement requirements/build.txt
# What comes as source is built by the tools above: build isolation would fetch others, without hashes.
RUN /opt/build/bin/python -m pip wheel --require-hashes --no-build-isolation --wheel-dir /wheels --requirement requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
ARG VERSION=
RUN test -z "$VERSION" || /opt/build/bin/hatchling version "$VERSION"
RUN /opt/build/bin/hatchling build --target wheel --directory /wheels
RUN python -m venv --without-pip /opt/freehold
RUN /opt/build/bin/python -m pip --python /opt/freehold/bin/python install --no-index --no-deps /wheels/*.whl
RUN /opt/build/bin/cyclonedx-py environment --no-validate --output-reproducible --output-file /opt/freehold/sbom.cdx.json /opt/freehold/bin/python

FROM ${BASE}
ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="freehold" \
      org.opencontainers.image.description="Kubernetes operator: the cloud resources behind clusters" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/freehold /opt/freehold
# The root filesystem may be read-only: pip has compiled the bytecode.
ENV PATH=/opt/freehold/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# By number, so that Kubernetes can see that it is not root (runAsNonRoot).
USER 65532:65532
ENTRYPOINT ["/opt/freehold/bin/freehold", "operator"]
