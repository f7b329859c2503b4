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
	Findings []driver.Finding // those that refuse, at least one
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
	answered := func(f driver.Finding) bool { return f.Topic != driver.TopicConnection }
	return target == driver.ErrUnfit && slices.ContainsFunc(e.Findings, answered)
}

// Check finds out whether a client and its server, or each master of a Cluster,
// are fit for a [Driver]. It writes nothing. It returns all findings, good ones
// included, and a *RefusedError if one of them refuses; a server that does not
// answer is such a finding. The context bounds all that is asked.
func Check(ctx context.Context, client redis.UniversalClient, o CheckOptions) ([]driver.Finding, error) {
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

func refusal(findings []driver.Finding) error {
	var bad []driver.Finding
	for _, f := range findings {
		if f.Level == driver.LevelRefuse {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &RefusedError{Findings: bad}
}

// unreachable is the finding that a request to a server failed.
func unreachable(client redis.UniversalClient, err error) driver.Finding {
	text := cmp.Or(explain(client, err), "the server does not answer")
	return driver.Finding{Level: driver.LevelRefuse, Topic: driver.TopicConnection, Server: address(client), Text: text + ": " + err.Error(),
		Fix: "check its address, its user and password, and the network", Err: err}
}

// checkClient looks at the options that decide how long a request may take.
func checkClient(client redis.UniversalClient) []driver.Finding {
	retries, deadlines, known := limits(client)
	if !known {
		return []driver.Finding{{Level: driver.LevelWarn, Topic: driver.TopicClient,
			Text: fmt.Sprintf("the options of a %T are not known", client), Fix: "see Harden for what they should be"}}
	}
	var found []driver.Finding
	if retries > 0 {
		found = append(found, driver.Finding{Level: driver.LevelRefuse, Topic: driver.TopicClient,
			Text: fmt.Sprintf("the client repeats requests on its own: MaxRetries is %d", retries),
			Fix:  "call redislock.Harden with its options before it is made, or set MaxRetries to -1"})
	}
	if !deadlines {
		found = append(found, driver.Finding{Level: driver.LevelRefuse, Topic: driver.TopicClient, Text: "the client does not respect the deadlines of contexts",
			Fix: "call redislock.Harden with its options before it is made, or set ContextTimeoutEnabled to true"})
	}
	if found == nil {
		found = []driver.Finding{{Level: driver.LevelOK, Topic: driver.TopicClient, Text: "the client respects deadlines and repeats nothing on its own"}}
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
func checkServer(ctx context.Context, c, client redis.UniversalClient, o CheckOptions) []driver.Finding {
	server := address(c)
	text, err := bounded(ctx, prompt(c), func() (string, error) { return c.Info(ctx).Result() })
	if err != nil && !denied(err) {
		return []driver.Finding{unreachable(c, err)}
	}
	_, cluster := client.(*redis.ClusterClient)
	i := info{fields: parseInfo(text), server: server, options: o, cluster: cluster}
	if err == nil {
		saves, err := bounded(ctx, prompt(c), func() (map[string]string, error) { return c.ConfigGet(ctx, "save").Result() })
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return []driver.Finding{unreachable(c, err)}
		}
		i.saves, i.asked = saves["save"], err == nil
	}
	return []driver.Finding{
		{Level: driver.LevelOK, Topic: driver.TopicConnection, Server: server, Text: "the server answers"},
		i.version(), i.role(), i.eviction(), i.persistence(),
	}
}

// denied reports whether the server answered that the user may not ask this.
func denied(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM")
}
