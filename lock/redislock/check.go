package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// CheckStore checks with [Check], and Options.Check, whether client and server are fit, and with
// [Driver.Agree] whether this process lays its namespace out as the others do. Warnings of Check
// become risks. The error is a *RefusedError; unless that is lock.ErrUnfit, no server answered.
// Masters of a Cluster that do not answer are a risk as long as one does: they do not prevent the
// work with the others.
func (d *Driver) CheckStore(ctx context.Context) ([]driver.Risk, error) {
	findings, err := Check(ctx, d.client, d.check)
	partly := err != nil && !errors.Is(err, driver.ErrUnfit) && slices.ContainsFunc(findings, answers)
	if err == nil || partly {
		err = d.Agree(ctx)
	}
	if refused, is := errors.AsType[*RefusedError](err); is && partly && !errors.Is(err, driver.ErrUnfit) {
		findings, err = append(findings, refused.Findings...), nil
	}
	if err != nil {
		return nil, err
	}
	var risks []driver.Risk
	for _, f := range findings {
		if f.Level != LevelOK {
			risks = append(risks, driver.Risk{Topic: f.Topic, Server: f.Server, Text: f.Text, Fix: f.Fix})
		}
	}
	return risks, nil
}

// answers reports whether a finding is that a server answers.
func answers(f Finding) bool {
	return f.Topic == TopicConnection && f.Level == LevelOK
}

// CheckOptions change which findings [Check] refuses. The zero value refuses those that break a
// promise, and warns of the others.
type CheckOptions struct {
	// Strict also refuses if the user may not read a setting that must be checked.
	Strict bool
	// AllowEviction warns of a server that evicts keys, instead of refusing it.
	AllowEviction bool
	// RefuseFull refuses a server at maxmemory, which takes no writes, instead of warning of it. It
	// is for a diagnosis: a process that starts can wait until the server has memory again.
	RefuseFull bool
}

// A RefusedError says that a client or its server is not fit. It matches lock.ErrUnfit with
// errors.Is, unless the only fault is that the server does not answer.
type RefusedError struct {
	Findings []Finding // the refusals, at least one
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

// refusalsShown is how many findings an error spells out: all that a client can have, and one more.
// The masters of a Cluster probably share their findings.
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

// Is makes a RefusedError match lock.ErrUnfit.
func (e *RefusedError) Is(target error) bool {
	answered := func(f Finding) bool { return f.Topic != TopicConnection }
	return target == driver.ErrUnfit && slices.ContainsFunc(e.Findings, answered)
}

// Check checks whether a client and its server, or each master of a Cluster, are fit for a
// [Driver]. It writes nothing. It returns all findings, good ones included, and a *RefusedError if
// one of them refuses; a server that does not answer is such a finding. A nil client and a Ring are
// refused with a *lock.ArgumentError. The context bounds all requests.
func Check(ctx context.Context, client redis.UniversalClient, o CheckOptions) ([]Finding, error) {
	if err := checkKind(client); err != nil {
		return nil, err
	}
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
		if f.Level == LevelRefuse {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &RefusedError{Findings: bad}
}

// unreachable returns the finding of a failed request: the server does not answer, or is not fit.
func unreachable(client redis.UniversalClient, err error) Finding {
	if u, is := unfitnessOf(err); is {
		return Finding{Level: LevelRefuse, Topic: u.topic, Server: address(client), Text: u.text + ": " + err.Error(), Fix: u.fix, Err: err}
	}
	text := cmp.Or(explain(client, err), "the server does not answer")
	return Finding{Level: LevelRefuse, Topic: TopicConnection, Server: address(client), Text: text + ": " + err.Error(),
		Fix: "check its address, its user and password, and the network", Err: err}
}

// checkClient checks the options that decide how long a request may take.
func checkClient(client redis.UniversalClient) []Finding {
	retries, deadlines, known := limits(client)
	if !known {
		return []Finding{{Level: LevelWarn, Topic: topicClient,
			Text: fmt.Sprintf("the options of a %T are not known", client), Fix: "set the options that Harden sets"}}
	}
	var found []Finding
	if retries > 0 {
		found = append(found, Finding{Level: LevelRefuse, Topic: topicClient,
			Text: fmt.Sprintf("the client repeats requests on its own: MaxRetries is %d", retries),
			Fix:  "call redislock.Harden with its options before it is made, or set MaxRetries to -1"})
	}
	if !deadlines {
		found = append(found, Finding{Level: LevelRefuse, Topic: topicClient, Text: "the client does not respect the deadlines of contexts",
			Fix: "call redislock.Harden with its options before it is made, or set ContextTimeoutEnabled to true"})
	}
	if found == nil {
		found = []Finding{{Level: LevelOK, Topic: topicClient, Text: "the client respects deadlines and repeats nothing on its own"}}
	}
	return found
}

// checkServer checks one server.
func checkServer(ctx context.Context, c, client redis.UniversalClient, o CheckOptions) []Finding {
	server := address(c)
	text, err := bounded(ctx, prompt(c), func() (string, error) { return c.Info(ctx).Result() })
	if err != nil && !denied(err) && !disabled(err) {
		return []Finding{unreachable(c, err)}
	}
	fields := parseInfo(text)
	if fields["redis_mode"] == "sentinel" {
		return []Finding{{Level: LevelRefuse, Topic: topicRole, Server: server,
			Text: "the server is a Sentinel, which keeps no data", Fix: "give the master's name as well, or the address of the master"}}
	}
	if unfit := checkCommands(ctx, c); unfit != nil {
		return []Finding{*unfit}
	}
	_, cluster := client.(*redis.ClusterClient)
	i := info{fields: fields, server: server, options: o, cluster: cluster}
	if err == nil {
		saves, err := bounded(ctx, prompt(c), func() (map[string]string, error) { return c.ConfigGet(ctx, "save").Result() })
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return []Finding{unreachable(c, err)}
		}
		i.saves, i.asked = saves["save"], err == nil
	}
	found := []Finding{
		{Level: LevelOK, Topic: TopicConnection, Server: server, Text: "the server answers"},
		i.version(), i.role(), i.eviction(),
	}
	return append(append(found, i.memory()...), i.persistence())
}

// denied reports whether the server answered that the user has no permission.
func denied(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM")
}

// An info is the report of a server about itself.
type info struct {
	fields  map[string]string // of INFO; empty if the user has no permission
	saves   string            // when it writes snapshots
	asked   bool              // whether saves is known
	server  string
	cluster bool // the client is one for a Cluster
	options CheckOptions
}

// parseInfo reads the reply to INFO: lines of name:value, and titles.
func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if found && !strings.HasPrefix(name, "#") {
			fields[name] = value
		}
	}
	return fields
}

func (i *info) finding(level Level, topic, text, fix string) Finding {
	return Finding{Level: level, Topic: topic, Server: i.server, Text: text, Fix: fix}
}

// unreported is the finding about a setting that the user may not read, or the server does not
// report.
func (i *info) unreported(topic, what string) Finding {
	level := LevelWarn
	if i.options.Strict {
		level = LevelRefuse
	}
	return i.finding(level, topic, "the server does not report "+what, "let the user call INFO and CONFIG|GET, or check it yourself")
}

func (i *info) version() Finding {
	version, known := i.fields["redis_version"]
	major, minor, ok := parseVersion(version)
	switch {
	case !known || !ok:
		return i.unreported(topicVersion, "its version")
	case major < 6 || major == 6 && minor < 2:
		return i.finding(LevelRefuse, topicVersion, "the server is Redis "+version, "use Redis 6.2 or newer")
	}
	return i.finding(LevelOK, topicVersion, "the server is Redis "+version, "")
}

func parseVersion(s string) (major, minor int, ok bool) {
	first, rest, found := strings.Cut(s, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err1 := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	return major, minor, found && err1 == nil && err2 == nil
}

func (i *info) role() Finding {
	role, known := i.fields["role"]
	switch {
	case !known:
		return i.unreported(topicRole, "whether it is a master")
	case role != "master":
		return i.finding(LevelRefuse, topicRole, "the server is a replica of "+i.fields["master_host"]+":"+i.fields["master_port"],
			"connect to the master, or through Sentinel")
	case i.fields["cluster_enabled"] == "1" && !i.cluster:
		return i.finding(LevelRefuse, topicRole, "the server is part of a Cluster, the client is for a single server", "use a client for a Cluster")
	}
	return i.finding(LevelOK, topicRole, "the server is a master", "")
}

func (i *info) eviction() Finding {
	const fix = "set maxmemory-policy to noeviction"
	policy, known := i.fields["maxmemory_policy"]
	text := fmt.Sprintf("maxmemory-policy is %s, maxmemory %s bytes", policy, i.fields["maxmemory"])
	switch {
	case !known:
		return i.unreported(TopicEviction, "whether it evicts keys")
	case policy == "noeviction":
		return i.finding(LevelOK, TopicEviction, text, "")
	case i.fields["maxmemory"] == "0":
		return i.finding(LevelWarn, TopicEviction, text+": with a bound on its memory the server would evict locks and marks, and numbers would run twice", fix)
	case i.options.AllowEviction:
		return i.finding(LevelWarn, TopicEviction, text+": the server evicts locks and marks, and numbers run twice", fix)
	}
	return i.finding(LevelRefuse, TopicEviction, text+": the server evicts locks and marks, and numbers run twice", fix)
}

func (i *info) persistence() Finding {
	const fix = "set appendonly to yes"
	log, known := i.fields["aof_enabled"]
	switch {
	case !known:
		return i.unreported(TopicPersistence, "whether its data outlives its process")
	case log == "1":
		return i.finding(LevelOK, TopicPersistence, "the server writes a log of all changes", "")
	case !i.asked && i.options.Strict:
		return i.unreported(TopicPersistence, "whether it writes snapshots, and writes no log of changes")
	case !i.asked:
		return i.finding(LevelWarn, TopicPersistence, "the server writes no log of changes, and does not report whether it writes snapshots", fix)
	case i.saves == "":
		return i.finding(LevelWarn, TopicPersistence, "the server keeps nothing on disk: decisions are forgotten when its process ends", fix)
	}
	return i.finding(LevelWarn, TopicPersistence, "the server only writes snapshots: decisions after the last one are forgotten when its process ends", fix)
}

// agreement is how long the record is kept after the last start that agreed with it: as long as the
// series are.
const agreement = 90 * 24 * time.Hour

// Agree makes sure that the processes of a namespace keep the same series and locks at the same
// keys. The first process that calls it records Options.Partitions and Options.GroupBy. Processes with
// other options then get a *RefusedError, until 90 days after the last call that agreed: they would
// be granted locks and numbers that another process has. A server that does not answer, or may not
// write, is a *RefusedError too. Call Agree once, before the Driver is used, as [Driver.CheckStore]
// does; only processes that call it are compared.
func (d *Driver) Agree(ctx context.Context) error {
	key := d.keys.partitions[0] + "layout"
	own := fmt.Sprintf("partitions %d, group by %q", len(d.keys.partitions), d.keys.group)
	reply, err := d.run(ctx, d.scripts.agree, []string{key}, []any{own, agreement.Milliseconds()})
	if err != nil {
		return refusal([]Finding{unrecorded(d.client, err)})
	}
	if found := fmt.Sprint(reply); found != own {
		return refusal([]Finding{{Level: LevelRefuse, Topic: topicLayout, Server: address(d.client),
			Text: fmt.Sprintf("the namespace is laid out with %s, not with %s", found, own),
			Fix:  "use the same options in all processes of the namespace; to change them stop all, delete the key " + key + ", start all"}})
	}
	return nil
}

// unrecorded is doubt: the server, or an operator, may still make the record possible.
func unrecorded(client redis.UniversalClient, err error) Finding {
	if _, answered := errors.AsType[redis.Error](err); answered {
		return Finding{Level: LevelRefuse, Topic: TopicConnection, Server: address(client),
			Text: "the server did not record how the namespace is laid out: " + err.Error(),
			Fix:  "give its user the rights of AccessRules, and check that it has memory", Err: err}
	}
	return unreachable(client, err)
}
