package redislock

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// A layout names the keys of a namespace.
type layout struct {
	plain   string   // before the tag of a plain lock
	queues  string   // before the tag of its queue
	holders string   // the same for the owners that share it
	ends    string   // for their deadlines
	limits  string   // and for their limits
	takings string   // for how leases on it were taken
	forced  string   // for the records of forced unlocks
	absent  string   // the same for the key that never exists
	group   string   // see Options.GroupBy
	shards  []string // what the keys of a shard begin with
}

func newLayout(o *Options) layout {
	l := layout{group: o.GroupBy, shards: make([]string, o.Shards)}
	for kind, prefix := range map[string]*string{
		"l": &l.plain, "q": &l.queues, "h": &l.holders, "e": &l.ends, "m": &l.limits, "t": &l.takings, "f": &l.forced, "none": &l.absent,
	} {
		*prefix = o.Namespace + ":v1:" + kind + ":{"
	}
	for i := range l.shards {
		l.shards[i] = o.Namespace + ":v1:{" + o.Namespace + "." + strconv.Itoa(i) + "}:"
	}
	return l
}

// shard is the number of the shard that a series lives in.
func (l *layout) shard(key string) int {
	if len(l.shards) == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return int(h.Sum32() % uint32(len(l.shards)))
}

// lock is the key of a plain lock, none one in its slot that never exists.
func (l *layout) lock(key string) string { return l.named(l.plain, key) }
func (l *layout) none(key string) string { return l.named(l.absent, key) }

// taken is the key that says how leases on a lock were taken, records that of its
// records.
func (l *layout) taken(key string) string   { return l.named(l.takings, key) }
func (l *layout) records(key string) string { return l.named(l.forced, key) }

// all are the keys of locks that owners may share, as the scripts want them.
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

// named is a key of a lock: the prefix, which opens the hash tag, the tag, and the
// rest of the name. Without the brace that is the name, so that two names never
// meet.
func (l *layout) named(prefix, key string) string {
	n := l.grouped(key)
	if n == len(key) {
		return prefix + escape(key) + "}"
	}
	return prefix + escape(key[:n]) + "}" + escape(key[n:])
}

// grouped is how much of a lock's name decides its slot.
func (l *layout) grouped(key string) int {
	if l.group == "" {
		return len(key)
	}
	if i := strings.LastIndex(key, l.group); i > 0 { // an empty tag would be none
		return i
	}
	return len(key)
}

// names escapes the names in keys and stored texts: none of the separators of the stored
// texts is left, and no brace that would move a slot.
var names = driver.NewEscaping("._~:/-")

func escape(s string) string { return names.Escape(s) }

func appendEscaped(b []byte, s string) []byte { return names.Append(b, s) }

// A Namespace is one that is in use on a server.
type Namespace struct {
	Name   string
	Keys   int // keys that were found
	Series int // of them series
	Locks  int // of them plain locks that are held
}

const (
	scanStep     = 1000 // keys that a server scans per request
	defaultLimit = 1_000_000
)

// Namespaces lists the namespaces in use on the server, or on the masters of a
// Cluster, by name. It scans about limit keys of each server, of whatever application they
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

// count adds keys to the namespaces that they are of.
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
