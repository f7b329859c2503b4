package redislock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A Namespace is one that is in use on a server.
type Namespace struct {
	Name   string
	Keys   int // keys that were found
	Series int // of them series
	Locks  int // of them plain locks that are held
}

const (
	scanStep     = 1000 // keys that a server looks at per request
	defaultLimit = 1_000_000
)

// Namespaces lists the namespaces in use on the server, or on the masters of a
// Cluster, by name. It looks at about limit keys of each server, whoever's they
// are, and reports whether there are more; a limit of 0 is a million. It asks
// SCAN, which the user of [AccessRules] may not.
func Namespaces(ctx context.Context, client redis.UniversalClient, limit int) (found []Namespace, more bool, err error) {
	if limit == 0 {
		limit = defaultLimit
	}
	s := survey{names: make(map[string]*Namespace), steps: max(1, limit/scanStep)}
	if err := eachMaster(ctx, client, s.server); err != nil {
		return nil, false, fmt.Errorf("redislock: namespaces: %w", err)
	}
	for _, n := range s.names {
		found = append(found, *n)
	}
	slices.SortFunc(found, func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
	return found, s.more, nil
}

// A survey counts keys by namespace.
type survey struct {
	steps int // per server
	mu    sync.Mutex
	names map[string]*Namespace
	more  bool // keys that were not looked at
}

// server looks at the keys of one server.
func (s *survey) server(ctx context.Context, c redis.UniversalClient) error {
	type page struct {
		keys []string
		next uint64
	}
	var p page
	for range s.steps {
		var err error
		p, err = bounded(ctx, prompt(c), func() (page, error) {
			keys, next, err := c.Scan(ctx, p.next, "*:v1:*", scanStep).Result()
			return page{keys, next}, err
		})
		if err != nil {
			return err
		}
		s.count(p.keys)
		if p.next == 0 {
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = true
	return nil
}

// count adds keys to the namespaces that they are of.
func (s *survey) count(keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		name, rest, _ := strings.Cut(key, ":v1:")
		if !namespace.MatchString(name) {
			continue
		}
		n := s.names[name]
		if n == nil {
			n = &Namespace{Name: name}
			s.names[name] = n
		}
		n.Keys++
		switch {
		case strings.HasPrefix(rest, "l:{"):
			n.Locks++
		case strings.Contains(rest, "}:s:"):
			n.Series++
		}
	}
}
