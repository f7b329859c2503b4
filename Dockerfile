# docker build --build-arg VERSION=v0.1.0 -t cronce:v0.1.0 .
# docker run --rm -v ./config.yaml:/etc/cronce/config.yaml:ro -e CRONCE_REDIS_URL=redis://host:6379 cronce:v0.1.0

# By digest, so that the same source is built by the same compiler; `make pin` moves it to what the tag is now.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm@sha256:b305420a68d0f229d91eb3b3ed9e519fcf2cf5461da4bef997bf927e8c0bfd2b AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Static, and the same bytes from the same source. The time zones are inside the binary.
# VERSION is what `cronce --version` prints.
ARG VERSION=
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -ldflags="-s -w -X main.linked=${VERSION}" -o /cronce ./cmd/cronce

FROM scratch
ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="cronce" \
      org.opencontainers.image.description="N identical nodes run one cron schedule; each scheduled instant runs on exactly one of them" \
      org.opencontainers.image.source="https://github.com/cronce/cronce" \
      org.opencontainers.image.documentation="https://github.com/cronce/cronce/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# For TLS to Redis and to the gateway.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /cronce /cronce
USER 65532:65532
ENV CRONCE_CONFIG=/etc/cronce/config.yaml
# A drain: give it longer than scheduler.grace and scheduler.cancel_grace together.
STOPSIGNAL SIGTERM
# Of a node. Another command has a health check of its own, or none. Nothing restarts a container for it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["/cronce", "node", "health"]
# As process 1 cronce waits for the orphans of commands that it runs: no other init is needed.
ENTRYPOINT ["/cronce"]
CMD ["node"]
