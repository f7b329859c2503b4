package main

import (
	"strings"
	"testing"
)

// typedSlips are URLs whose password holds what ends a host: nothing of them is shown,
// whichever reader gets them.
var typedSlips = []string{
	"redis://:1234/s3cr3tTAIL@h", "redis://user:p@ss3cr3t/word@h", "redis://user:1234/s3cr3t@h:1/0", "redis://s3cr3t/s3cr3t:s3cr3t@h",
	"redis://user:12#s3cr3t@h", "redis://user:12?s3cr3t@h", "redis://user:s3cr3t@s3cr3t?s3cr3t#s3cr3t@h", "redis://s3cr3t:x@h",
}

func TestSlipsAreNotShown(t *testing.T) {
	for _, raw := range typedSlips {
		for _, text := range []string{"redis: " + raw, "redis: {addresses: '" + raw + "'}", "redis: {db: '" + raw + "'}", "redis: {url: '" + raw + "'}",
			"redis: {addresses: ['" + raw + "']}", "zone: '" + raw + "'", "redis: {tls: '" + raw + "'}", "scheduler: {grace: '" + raw + "'}", "http: {address: '" + raw + "'}"} {
			r := cronce(t, "node", "--check", "--config", file(t, "c.yaml", text))
			if r.code != exitUsage || strings.Contains(r.stdout+r.stderr, "s3cr3t") {
				t.Errorf("%s: %d, %s%s", text, r.code, r.stdout, r.stderr)
			}
		}
	}
}
