package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Check asks every server who it is and returns what is wrong with them, joined:
// one that does not answer, one that is a replica or part of a Cluster, and two
// clients of one process under different addresses. A server whose user may not
// ask INFO is passed over. Call it before anything depends on the Driver.
func (d *Driver) Check(ctx context.Context) error { return errors.Join(d.inspect(ctx)...) }

// inspect returns what is wrong with each server, in its place, and behind those the
// servers that are one.
func (d *Driver) inspect(ctx context.Context) []error {
	errs := make([]error, len(d.nodes))
	ids := make([]string, len(d.nodes))
	var wg sync.WaitGroup
	for i, n := range d.nodes {
		wg.Go(func() { ids[i], errs[i] = n.identify(ctx) })
	}
	wg.Wait()
	first := make(map[string]*node, len(ids))
	for i, id := range ids {
		if other := first[id]; id != "" && other != nil {
			errs = append(errs, unfit(fmt.Sprintf("redlock: check: %s and %s are one server, with the run id %s: use %d servers",
				other.addr(), d.nodes[i].addr(), id, len(d.nodes))))
		}
		first[id] = d.nodes[i]
	}
	return errs
}

// identify returns the server's run id, or "" if it does not tell.
func (n *node) identify(ctx context.Context) (string, error) {
	addr := n.addr()
	text, err := n.client.Info(ctx).Result()
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("redlock: check: %s: %w", addr, err)
	}
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	switch {
	case fields["role"] == "slave":
		return "", unfit(fmt.Sprintf("redlock: check: %s is a replica: use independent masters", addr))
	case fields["cluster_enabled"] == "1":
		return "", unfit(fmt.Sprintf("redlock: check: %s is part of a Cluster: use independent masters", addr))
	}
	return fields["run_id"], nil
}
