package opscommands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/inspect"
	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/why"
)

// target returns the job that the arguments name, or nil, and the filter of its runs. Behind an @ an argument has the one
// tick that is listed.
func (f *runFlags) target(ctx context.Context, s *clients.Store, now *ops.Snapshot, args []string) (*ops.Job, ops.RunFilter, error) {
	filter, err := f.filter(now.AsOf)
	if err != nil || len(args) == 0 {
		return nil, filter, err
	}
	id, _ := command.TickOf(args[0])
	name, at, named := strings.Cut(id, "@")
	name = strings.TrimPrefix(name, s.Config.Namespace+"/")
	if err := command.CheckJob("runs", name); err != nil {
		return nil, filter, err
	}
	j, err := known(ctx, s, now, name)
	if err != nil || !named {
		return j, filter, err
	}
	tick, _, err := inspect.ParseTick(at, j.Schedule, now.AsOf)
	if err != nil {
		return nil, filter, exit.Usagef("runs: time %w", err)
	}
	question := why.Question{Tick: tick, Journal: j.Journal, State: j.Series}
	answer := why.Explain(question)
	if answer.State == why.NotKnown { // by the newest lines
		if question.Journal, err = s.Front().Journal(ctx, j.Name, 0); err != nil {
			return nil, filter, s.Failed(err)
		}
		answer = why.Explain(question)
	}
	if answer.State == why.NotATick {
		return nil, filter, exit.Usagef("runs: time is %s, must be a tick of the job, or the instant of a manual run. %s", strictyaml.Quote(at), answer.Sentence)
	}
	filter.From, filter.To = tick.UTC(), tick.UTC()
	return j, filter, nil
}

// shards makes the shards of a tick the table of the listing.
func (l *listing) shards(r *ops.Run, shards []ops.ShardRun) {
	l.text = fmt.Sprintf("%s, tick %s: %s, %s", r.Job, r.Tick.Time().Format(time.RFC3339Nano), verdictOf(r), r.Shards)
	l.key = append(l.key, l.text)
	l.table = func(wide bool) row { return shardRows(shards, wide) }
}

func shardRows(shards []ops.ShardRun, wide bool) row {
	head := []any{"SHARD", "VERDICT", "NODE", "ATTEMPT", "LATE", "TOOK"}
	params := slices.ContainsFunc(shards, func(h ops.ShardRun) bool { return h.Param != "" })
	if params {
		head = append(head, "PARAM")
	}
	errors := slices.ContainsFunc(shards, func(h ops.ShardRun) bool { return h.Error != "" })
	if errors {
		head = append(head, "ERROR")
	}
	if wide {
		head = append(head, "FENCE")
	}
	rows := row{head}
	for i := range shards {
		h := &shards[i]
		cells := []any{h.Shard, h.Verdict, dash(h.Node), number(int64(h.Attempt)), ms(h.LateMs), ms(h.TookMs)}
		if params {
			cells = append(cells, dash(h.Param))
		}
		if errors {
			cells = append(cells, dash(h.Error))
		}
		if wide {
			cells = append(cells, number(h.Fence))
		}
		rows = append(rows, cells)
	}
	return rows
}
