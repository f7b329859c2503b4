package redislock

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// An unfitness is the meaning of an error that another configuration of the client, or of the
// server, would prevent.
type unfitness struct{ topic, text, fix string }

// unfitnesses are listed by the beginning of a server's error.
var unfitnesses = []struct {
	prefix string
	unfitness
}{
	{"ERR unknown command", unfitness{topicCommands, "the server does not know a command, which is disabled or renamed there",
		"let the server know the commands that AccessRules names, or use another server"}},
	{"ERR Unknown Redis command called from script", unfitness{topicCommands, "the server does not know a command of a script, which is disabled or renamed there",
		"let the server know the commands that AccessRules names, or use another server"}},
	{"ERR DB index", unfitness{topicRole, "the server has no database of the number that the client selects", "give the number of a database that it has, or raise databases in its configuration"}},
	{"ERR SELECT is not allowed", unfitness{topicRole, "the server is part of a Cluster, which has no database but 0, and the client selects another", "use a client for a Cluster"}},
	{"ERR This instance has cluster support", unfitness{topicRole, "the server is a single one, the client is for a Cluster", "use a client for a single server"}},
}

// The unfitness if all Sentinels answer alike to the name of a master.
var (
	unknownMaster = unfitness{topicRole, "no Sentinel knows a master of this name", "give the name that the Sentinels know the master by"}
	noSentinels   = unfitness{topicRole, "the servers that are given as Sentinels are none", "give the addresses of the Sentinels, or leave the master's name out"}
)

// Unfit reports whether a server answered that it cannot be used as it is: it does not know a
// command, or it is not of the kind that the client needs.
func Unfit(err error) bool {
	_, is := unfitnessOf(err)
	return is
}

func unfitnessOf(err error) (unfitness, bool) {
	answers := sentinelAnswers(err)
	of := func(is func(error) bool) bool {
		return len(answers) > 0 && !slices.ContainsFunc(answers, func(err error) bool { return !is(err) })
	}
	foreign := func(err error) bool { return begins(err, unfitnesses[0].prefix) }
	switch {
	case of(foreign):
		return noSentinels, true
	case of(func(err error) bool { return errors.Is(err, redis.Nil) || foreign(err) }):
		return unknownMaster, true
	case len(answers) > 0: // a Sentinel that does not answer may know the master
		return unfitness{}, false
	}
	for _, u := range unfitnesses {
		if begins(err, u.prefix) {
			return u.unfitness, true
		}
	}
	return unfitness{}, false
}

// noMaster begins the error of a client that called all Sentinels and found no master.
const noMaster = "redis: all sentinels specified in configuration are unreachable"

// sentinelAnswers returns the errors of all Sentinels in the error of a client that found no
// master, and none of another error.
func sentinelAnswers(err error) []error {
	switch e := err.(type) { //nolint:errorlint // it walks the tree of errors itself
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if all, is := inner.(interface{ Unwrap() []error }); is && strings.HasPrefix(err.Error(), noMaster) {
			return all.Unwrap()
		}
		return sentinelAnswers(inner)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if answers := sentinelAnswers(inner); answers != nil {
				return answers
			}
		}
	}
	return nil
}

// optional are the commands of AccessRules that a server need not know.
var optional = []string{"ping", "hello", "auth", "select", "wait"}

// needed returns the commands that a server must know.
func needed() (names []any) {
	for _, rule := range AccessRules("") {
		name, is := strings.CutPrefix(rule, "+")
		if is && !strings.Contains(name, "|") && !slices.Contains(optional, name) {
			names = append(names, name)
		}
	}
	return names
}

// disabled reports whether the error is that the server does not know a command.
func disabled(err error) bool {
	u, is := unfitnessOf(err)
	return is && u.topic == topicCommands
}

// checkCommands returns the finding that a server does not know some commands, or nil if it knows
// all, or the user may not check that.
func checkCommands(ctx context.Context, c redis.UniversalClient) *Finding {
	unknown, err := bounded(ctx, prompt(c), func() ([]string, error) {
		return c.Eval(ctx, embedded().unknown.source, nil, needed()...).StringSlice()
	})
	switch {
	case disabled(err):
		unknown = []string{"eval"}
	case Denied(err):
		return nil
	case err != nil:
		f := unreachable(c, err)
		return &f
	case len(unknown) == 0:
		return nil
	}
	return &Finding{Level: LevelRefuse, Topic: topicCommands, Server: address(c),
		Text: "the server does not know " + strings.ToUpper(strings.Join(unknown, ", ")) + ", disabled or renamed there",
		Fix:  unfitnesses[0].fix}
}
