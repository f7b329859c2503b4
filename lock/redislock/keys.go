package redislock

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// A layout names the keys of a namespace.
type layout struct {
	plain      string   // before the tag of a plain lock
	queues     string   // before the tag of its queue
	holders    string   // before the tag of the owners that share it
	ends       string   // before the tag of their deadlines
	limits     string   // before the tag of their limits
	takings    string   // before the tag of the leases on it that were taken
	forced     string   // before the tag of the records of forced unlocks
	absent     string   // before the tag of the key that never exists
	group      string   // see Options.GroupBy
	runs       string   // the channel on which requests and cancels of runs, and decided groups, are published
	partitions []string // the beginning of the keys of each partition
}

func newLayout(o *Options) layout {
	l := layout{group: o.GroupBy, runs: o.Namespace + ":v1:i:runs", partitions: make([]string, o.Partitions)}
	for kind, prefix := range map[string]*string{
		"l": &l.plain, "q": &l.queues, "h": &l.holders, "e": &l.ends, "m": &l.limits, "t": &l.takings, "f": &l.forced, "none": &l.absent,
	} {
		*prefix = o.Namespace + ":v1:" + kind + ":{"
	}
	for i := range l.partitions {
		l.partitions[i] = o.Namespace + ":v1:{" + tagOf(o.Namespace, i, o.Partitions) + "}:"
	}
	return l
}

// partition returns the number of the partition of a series.
func (l *layout) partition(key string) int {
	if len(l.partitions) == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return int(h.Sum32() % uint32(len(l.partitions)))
}

// lock returns the key of a plain lock, none a key in its slot that never exists.
func (l *layout) lock(key string) string { return l.named(l.plain, key) }
func (l *layout) none(key string) string { return l.named(l.absent, key) }

// taken returns the key of the leases on a lock that were taken, records the key of their records.
func (l *layout) taken(key string) string   { return l.named(l.takings, key) }
func (l *layout) records(key string) string { return l.named(l.forced, key) }

// all returns the keys of locks that owners may share, in the order of the scripts.
func (l *layout) all(locks ...string) []string {
	keys := make([]string, 1, 1+5*len(locks))
	for _, key := range locks {
		name := l.named("", key)
		if keys[0] == "" {
			keys[0] = l.absent + name
		}
		keys = append(keys, l.plain+name, l.queues+name, l.holders+name, l.ends+name, l.limits+name)
	}
	return keys
}

// named returns a key of a lock: the prefix, which opens the hash tag, the tag, and the rest of the
// name. Without the brace this is the escaped name, so two names never have the same key.
func (l *layout) named(prefix, key string) string {
	n := l.grouped(key)
	if n == len(key) {
		return prefix + escape(key) + "}"
	}
	return prefix + escape(key[:n]) + "}" + escape(key[n:])
}

// grouped returns how many bytes of a lock's name decide its slot.
func (l *layout) grouped(key string) int {
	if l.group == "" {
		return len(key)
	}
	if i := strings.LastIndex(key, l.group); i > 0 { // an empty tag is none
		return i
	}
	return len(key)
}

// names escapes the names in keys and stored texts. No separator of the stored texts is left, and
// no brace that would move a slot.
var names = driver.NewEscaping("._~:/-")

func escape(s string) string { return names.Escape(s) }

func appendEscaped(b []byte, s string) []byte { return names.Append(b, s) }

// A Namespace is a namespace that is in use on a server.
type Namespace struct {
	Name   string
	Keys   int // keys that were found
	Series int // series among them
	Locks  int // plain locks among them that are held
}

const (
	scanStep     = 1000 // keys that a server scans per request
	defaultLimit = 1_000_000
)

// Namespaces lists the namespaces in use on the server, or on the masters of a Cluster, by name. It
// scans about limit keys of each server, of any application, and reports whether there are more; a
// limit of 0 is a million. It uses SCAN, which a user with only [AccessRules] may not do.
func Namespaces(ctx context.Context, client redis.UniversalClient, limit int) (found []Namespace, more bool, err error) {
	if err := checkKind(client); err != nil {
		return nil, false, err
	}
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
	more  bool // keys that were not scanned
}

// server scans the keys of one server.
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

// count adds keys to their namespaces.
func (s *survey) count(keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		name, rest, _ := strings.Cut(key, ":v1:")
		if driver.CheckNamespace(name) != nil {
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
