package main

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/node"
)

// Each setting of shards that cannot be is reported with its key and what is allowed.
func TestShardSettings(t *testing.T) {
	for settings, want := range map[string]string{
		"shards: 1001":                      "jobs[0].shards: is 1001, must be 1 to 1000, or 0 for a job without shards",
		"shards: -1":                        "jobs[0].shards: is -1, must be 1 to 1000",
		"shards: 1, shard_params: [a, b]":   "jobs[0].shard_params: has 2 texts, must have at most 1, one for each shard",
		`shards: 1, shard_params: ["a\nb"]`: `jobs[0].shard_params[0]: is "a\nb", must be at most 64 bytes that print`,
		"shard_params: [a]":                 "jobs[0].shards: is 0, but shard_params or shard_fail is set",
		"shard_fail: all":                   "jobs[0].shards: is 0, but shard_params or shard_fail is set",
		"shards: 2, shard_fail: some":       `jobs[0].shard_fail: is "some", must be any, all`,
		"shards: 2, overlap: allow":         "jobs[0].overlap: is allow, must be skip, queue or replace for a job with shards",
		"shards: 2, shard_params: [a], shard_fail: all, overlap: queue": "",
		"broadcast: true, shard_fail: all, overlap: queue":              "",
		"broadcast: true, shards: 2":                                    "jobs[0].shards: is 2, but a broadcast has a shard for each node",
		"broadcast: true, shard_params: [a]":                            "jobs[0].shards: is 0, but shard_params or shard_fail is set",
		"broadcast: true, overlap: allow":                               "jobs[0].overlap: is allow, must be skip, queue or replace for a job with shards or a broadcast",
		"broadcast: true, takeover: rerun":                              "jobs[0].takeover: is rerun, but no other node runs the part of a node",
		"broadcast: true, attempts: 2":                                  "jobs[0].attempts: is 2, but no other node",
		"broadcast: true, window: 1m":                                   "jobs[0].window: is 1m0s, but no other node",
		"broadcast: true, misfire: all":                                 "jobs[0].misfire: is all, must be once or skip for a broadcast",
		"replicas: 0":                                                   "",
		"broadcast: sometimes":                                          "broadcast",
	} {
		c, err := nodeConfig(t, "--config", file(t, "c.yaml", "jobs: [{kind: sleep, name: a, spec: '@daily', "+settings+"}]\n"))
		if err == nil {
			_, _, err = node.DryRun(c)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
	for _, on := range []struct{ store, setting, want string }{
		{"zookeeper://localhost", "shards: 2", "jobs[0].shards: is 2, but ZooKeeper keeps no shards"},
		{"zookeeper://localhost", "broadcast: true", "jobs[0].broadcast: is true, but ZooKeeper keeps no shards"},
		{"postgres://localhost/app", "shards: 201", "jobs[0].shards: is 201, must be at most 200 on a database"},
		{"sqlite:app.db", "shards: 201", "jobs[0].shards: is 201, must be at most 200 on a database"},
		{"sqlite:app.db", "shards: 1000", "jobs[0].shards: is 1000, must be at most 200 on a database"},
		{"sqlite:app.db", "shards: 1001", "jobs[0].shards: is 1001, must be 1 to 1000, or 0 for a job without shards"},
		{"sqlite:app.db", "replicas: 1", "jobs[0].replicas: is 1, but only Redis can wait for replicas"},
		{"zookeeper://localhost", "replicas: 1", "jobs[0].replicas: is 1, but only Redis can wait for replicas"},
	} {
		c, err := nodeConfig(t, "--config", file(t, "c.yaml", "store: "+on.store+"\njobs: [{kind: sleep, name: a, spec: '@daily', "+on.setting+"}]\n"))
		if err == nil {
			_, _, err = node.DryRun(c)
		}
		if err == nil || !strings.Contains(err.Error(), on.want) || strings.Count(err.Error(), "jobs[0]") != 1 {
			t.Errorf("on %s: %v, want just %q", on.store, err, on.want)
		}
	}
}
