package proof

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"
)

// usual runs the jobs as most programs do: cron fires on every node, and the node that sets a key
// runs the tick. The client has default options except for its timeout.
func (m *member) usual(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: m.Store, ReadTimeout: m.Timeout})
	defer client.Close()
	c := cron.New(cron.WithSeconds(), cron.WithLocation(time.UTC))
	for _, j := range m.Jobs {
		w := newWorker(j, m.witness, m.die)
		if _, err := c.AddFunc(j.Spec(), func() { m.fire(ctx, client, w) }); err != nil {
			return err
		}
	}
	m.log.Info("node started", slog.String("node", m.Name))
	c.Start()
	<-ctx.Done()
	<-c.Stop().Done()
	return nil
}

// fire is called by cron on every node. If the node's clock is behind, it waits.
func (m *member) fire(ctx context.Context, client *redis.Client, w *worker) {
	r := Record{Kind: Start, Job: w.job.Name, Tick: time.Now().Truncate(w.job.Every).UnixMilli(), Attempt: 1, Try: 1, Node: m.Name}
	t := time.NewTimer(m.Offset)
	defer t.Stop()
	<-t.C
	key := m.Namespace + ":" + r.Job
	if m.Recipe == ClaimTick {
		key += r.Instant().Format(tickLayout)
	}
	if ok, err := client.SetNX(ctx, key, m.Name, time.Minute).Result(); err != nil || !ok {
		return // "another node has it"
	}
	w.tell(r)
	_ = w.work(ctx, r)
	r.Kind = End
	w.tell(r)
	if m.Recipe == LockByName {
		client.Del(ctx, key)
	}
}
