package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// A Level says how bad a finding is.
type Level uint8

// The levels of findings.
const (
	OK     Level = iota // as it should be
	Warn                // works, with a risk that the finding names
	Refuse              // must not be used
)

var levels = [...]string{"ok", "warn", "refuse"}

// String is ok, warn or refuse.
func (l Level) String() string { return levels[min(l, Refuse)] }

// The topics of findings.
const (
	TopicClient      = "client"      // the client's options
	TopicConnection  = "connection"  // whether the server answers
	TopicVersion     = "version"     // at least 6.2
	TopicRole        = "role"        // a master, of a kind that the client is for
	TopicEviction    = "eviction"    // whether keys can vanish
	TopicPersistence = "persistence" // whether data outlives the process
	TopicLayout      = "layout"      // whether all processes lay the namespace out alike: see Driver.Agree
)

// A Finding is what [Check], or [Driver.Agree], found out about one topic.
type Finding struct {
	Level  Level
	Topic  string
	Server string // which server; "" if it is about the client
	Text   string // what was found
	Fix    string // what to do about it; "" if nothing
	Err    error  // what the server, or the network, answered; nil: the finding is no failed request
}

// CheckOptions change what [Check] refuses. The zero value refuses what breaks a
// promise and warns of the rest.
type CheckOptions struct {
	// Strict refuses also what the user may not ask the server for.
	Strict bool
	// AllowEviction warns of a server that evicts keys, and does not refuse it.
	AllowEviction bool
}

// A RefusedError says that a client or its server is not fit. It is lock.ErrUnfit,
// for errors.Is, unless all that is wrong is that the server does not answer.
type RefusedError struct {
	Findings []Finding // those that refuse, at least one
}

func (e *RefusedError) Error() string {
	texts := make([]string, 0, refusalsShown)
	for _, f := range e.Findings[:min(len(e.Findings), refusalsShown)] {
		texts = append(texts, fmt.Sprintf("%s: %s: %s", f.Topic, f.Text, f.Fix))
	}
	text := "redislock: " + strings.Join(texts, "; ")
	if n := len(e.Findings) - len(texts); n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// refusalsShown is how many findings an error spells out: what can be wrong with a
// client, and one more. The masters of a Cluster are likely to have the same.
const refusalsShown = 3

// Unwrap returns the errors of the findings.
func (e *RefusedError) Unwrap() (errs []error) {
	for _, f := range e.Findings {
		if f.Err != nil {
			errs = append(errs, f.Err)
		}
	}
	return errs
}

// Is makes it lock.ErrUnfit.
func (e *RefusedError) Is(target error) bool {
	answered := func(f Finding) bool { return f.Topic != TopicConnection }
	return target == driver.ErrUnfit && slices.ContainsFunc(e.Findings, answered)
}

// Check finds out whether a client and its server, or each master of a Cluster,
// are fit for a [Driver]. It writes nothing. It returns all findings, good ones
// included, and a *RefusedError if one of them refuses; a server that does not
// answer is such a finding. The context bounds all that is asked.
func Check(ctx context.Context, client redis.UniversalClient, o CheckOptions) ([]Finding, error) {
	findings := checkClient(client)
	var mu sync.Mutex
	err := eachMaster(ctx, client, func(ctx context.Context, c redis.UniversalClient) error {
		found := checkServer(ctx, c, client, o)
		mu.Lock()
		defer mu.Unlock()
		findings = append(findings, found...)
		return nil
	})
	if err != nil {
		findings = append(findings, unreachable(client, err))
	}
	return findings, refusal(findings)
}

func refusal(findings []Finding) error {
	var bad []Finding
	for _, f := range findings {
		if f.Level == Refuse {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &RefusedError{Findings: bad}
}

// unreachable is the finding that a request to a server failed.
func unreachable(client redis.UniversalClient, err error) Finding {
	text := cmp.Or(explain(client, err), "the server does not answer")
	return Finding{Refuse, TopicConnection, address(client), text + ": " + err.Error(),
		"check its address, its user and password, and the network", err}
}

// checkClient looks at the options that decide how long a request may take.
func checkClient(client redis.UniversalClient) []Finding {
	retries, deadlines, known := limits(client)
	if !known {
		return []Finding{{Warn, TopicClient, "", fmt.Sprintf("the options of a %T are not known", client), "see Harden for what they should be", nil}}
	}
	var found []Finding
	if retries > 0 {
		found = append(found, Finding{Refuse, TopicClient, "", fmt.Sprintf("the client repeats requests on its own: MaxRetries is %d", retries), "call redislock.Harden with its options before it is made, or set MaxRetries to -1", nil})
	}
	if !deadlines {
		found = append(found, Finding{Refuse, TopicClient, "", "the client does not respect the deadlines of contexts", "call redislock.Harden with its options before it is made, or set ContextTimeoutEnabled to true", nil})
	}
	if found == nil {
		found = []Finding{{Level: OK, Topic: TopicClient, Text: "the client respects deadlines and repeats nothing on its own"}}
	}
	return found
}

// limits are how often a client repeats a request, and whether it respects the
// deadlines of contexts.
func limits(client redis.UniversalClient) (retries int, deadlines, known bool) {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().MaxRetries, c.Options().ContextTimeoutEnabled, true
	case *redis.ClusterClient:
		return c.Options().MaxRetries, c.Options().ContextTimeoutEnabled, true
	}
	return 0, false, false
}

// checkServer looks at one server.
func checkServer(ctx context.Context, c, client redis.UniversalClient, o CheckOptions) []Finding {
	server := address(c)
	text, err := bounded(ctx, prompt(c), func() (string, error) { return c.Info(ctx).Result() })
	if err != nil && !denied(err) {
		return []Finding{unreachable(c, err)}
	}
	_, cluster := client.(*redis.ClusterClient)
	i := info{fields: parseInfo(text), server: server, options: o, cluster: cluster}
	if err == nil {
		saves, err := bounded(ctx, prompt(c), func() (map[string]string, error) { return c.ConfigGet(ctx, "save").Result() })
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return []Finding{unreachable(c, err)}
		}
		i.saves, i.asked = saves["save"], err == nil
	}
	return []Finding{
		{Level: OK, Topic: TopicConnection, Server: server, Text: "the server answers"},
		i.version(), i.role(), i.eviction(), i.persistence(),
	}
}

// denied reports whether the server answered that the user may not ask this.
func denied(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM")
}
