# docker build --build-arg VERSION=v0.1.0 -t cronce:v0.1.0 .
# docker run --rm -v ./config.yaml:/etc/cronce/config.yaml:ro -e CRONCE_REDIS_URL=redis://host:6379 cronce:v0.1.0

# By digest, so that the same source is built by the same compiler; `make pin` moves it to what the tag is now.
FROM golang:1.26-bookworm@sha256:b305420a68d0f229d91eb3b3ed9e519fcf2cf5461da4bef997bf927e8c0bfd2b AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Static, and the same bytes from the same source. The time zones are inside the binary.
# VERSION is what `cronce version` prints.
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.linked=${VERSION}" -o /cronce ./cmd/cronce

FROM scratch
# For TLS to Redis and to the gateway.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /cronce /cronce
USER 65532:65532
ENV CRONCE_CONFIG=/etc/cronce/config.yaml
# A drain: give it longer than scheduler.grace and scheduler.cancel_grace together.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/cronce"]
CMD ["node"]
