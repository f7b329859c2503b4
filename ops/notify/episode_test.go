package notify

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/verify"
)

var three = time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)

// at returns the tick that many minutes after three o'clock.
func at(minutes int) time.Time { return three.Add(time.Duration(minutes) * time.Minute) }

func nodes(alive bool) *ops.NodeList {
	m := series.Member{Node: "web-1", Until: at(5).UnixMilli()}
	if alive {
		m.Until = at(11).UnixMilli()
	}
	return ops.NewNodeList(series.MemberList{Now: at(10).UnixMilli(), Members: []series.Member{{Node: "web-0", Until: at(2).UnixMilli()}, m}}, nil)
}

// snapshot returns a snapshot of ten minutes past three.
func snapshot(jobs ...*ops.Job) *ops.Snapshot {
	return &ops.Snapshot{Namespace: "shop", AsOf: at(10), Read: time.Now(), Nodes: nodes(true), Jobs: jobs}
}

func run(minutes int, state ops.State) ops.Run {
	return ops.Run{Job: "report", Tick: ops.InstantOf(at(minutes)), Recorded: ops.InstantOf(at(minutes)), State: state}
}

// job returns a job with the runs, the newest first.
func job(name string, state ops.State, runs ...ops.Run) *ops.Job {
	return &ops.Job{Name: name, State: state, Runs: runs, Series: series.Series{Key: name, Now: at(10).UnixMilli()}}
}

func overdue(name string) *ops.Job {
	j := job(name, ops.Overdue)
	j.Overdue = []ops.OverdueTick{{Job: name, Overdue: verify.Overdue{Tick: at(7)}}}
	return j
}

func stalled(state ops.State, s ops.Stall) *ops.Job {
	j := job("report", state)
	j.Stall = s
	return j
}

// The episodes of a snapshot, each as its key and, after an @, since when it lasts by the records of
// the store.
func TestEpisodes(t *testing.T) {
	lastOK := func(j *ops.Job, minutes int) *ops.Job { j.Series.Last = at(minutes).UnixMilli(); return j }
	dead := snapshot(job("backup", ops.Failing, run(9, ops.Failing)), overdue("report"))
	dead.Nodes = nodes(false)
	never := snapshot(overdue("report"))
	never.Nodes = ops.NewNodeList(series.MemberList{Now: at(10).UnixMilli()}, nil)
	silent := snapshot(overdue("report"))
	silent.Down = "connection refused"
	half := snapshot(job("report", ops.Unknown), overdue("sendSms"))
	half.Jobs[0].Series.Err = errors.New("connection refused")
	half.Faults = []string{"not all jobs are known", "which nodes live is not known"}
	half.Jobs[1].Series.Err = half.Jobs[0].Series.Err // it is shown as it was known before
	half.Jobs = append(half.Jobs, job("stock", ops.Unknown))
	half.Jobs[2].Fault = "its journal cannot be read"
	unread := snapshot(job("report", ops.Unknown))
	unread.Jobs[0].Series.Err = half.Jobs[0].Series.Err
	broken := snapshot(job("report", ops.Unknown))
	broken.Jobs[0].Fault = "its journal cannot be read"
	crowd := snapshot()
	for i := range many {
		crowd.Jobs = append(crowd.Jobs, overdue(fmt.Sprintf("job-%02d", i)))
	}
	single, deadCrowd := snapshot(crowd.Jobs[1:]...), snapshot(crowd.Jobs...)
	deadCrowd.Nodes = nodes(false)
	halfCrowd, unknowns := snapshot(), []string{}
	halfCrowd.Faults = half.Faults
	for i := range many {
		j := job(fmt.Sprintf("job-%02d", i), ops.Unknown)
		j.Series.Err = half.Jobs[0].Series.Err
		halfCrowd.Jobs, unknowns = append(halfCrowd.Jobs, j), append(unknowns, "(shop/unknown/"+j.Name+")")
	}
	halfCrowd.Jobs[0].Series.Err, halfCrowd.Jobs[0].Fault = nil, "its journal cannot be read"
	for name, c := range map[string]struct {
		s    *ops.Snapshot
		want []string
	}{
		"all is decided":           {snapshot(job("report", ops.OK, run(9, ops.OK))), nil},
		"paused":                   {snapshot(job("report", ops.Paused)), nil},
		"overdue":                  {snapshot(overdue("report")), []string{"shop/overdue/report@2026-11-26T03:07:00Z"}},
		"no node":                  {dead, []string{"shop/failed/backup", "shop/fleet@2026-11-26T03:04:35Z", "(shop/overdue/report@2026-11-26T03:07:00Z)"}},
		"no node yet":              {never, []string{"shop/fleet", "(shop/overdue/report@2026-11-26T03:07:00Z)"}},
		"no store":                 {silent, []string{"shop/store"}},
		"half a store":             {half, []string{"shop/overdue/sendSms@2026-11-26T03:07:00Z", "shop/store", "(shop/unknown/report)", "shop/unknown/stock"}},
		"unread":                   {unread, []string{"shop/unknown/report"}},
		"no job":                   {snapshot(), []string{"shop/store"}},
		"unreadable":               {broken, []string{"shop/unknown/report"}},
		"stuck":                    {snapshot(stalled(ops.Stuck, ops.Stall{Stuck: new(run(2, ops.Running))})), []string{"shop/stuck/report@2026-11-26T03:02:00Z"}},
		"starved":                  {snapshot(stalled(ops.Starved, ops.Stall{Starved: at(3)})), []string{"shop/starved/report@2026-11-26T03:03:00Z"}},
		"failed":                   {snapshot(lastOK(job("report", ops.Failing, run(8, ops.Failing), run(7, ops.OK)), 7)), []string{"shop/failed/report@2026-11-26T03:07:00Z"}},
		"failed and then missed":   {snapshot(lastOK(job("report", ops.Missed, run(9, ops.Missed), run(8, ops.Failing), run(7, ops.OK)), 7)), []string{"shop/failed/report@2026-11-26T03:07:00Z"}},
		"failed for long":          {snapshot(lastOK(job("report", ops.Failing, run(9, ops.Failing)), 7)), []string{"shop/failed/report@2026-11-26T03:07:00Z"}},
		"never ok":                 {snapshot(job("report", ops.Failing, run(9, ops.Failing))), []string{"shop/failed/report"}},
		"lost, and then one is ok": {snapshot(lastOK(job("report", ops.Lost, run(9, ops.OK), run(8, ops.Lost), run(7, ops.OK)), 9)), []string{"shop/failed/report@2026-11-26T03:07:00Z"}},
		"lost, beyond the lines":   {snapshot(lastOK(job("report", ops.Lost, run(9, ops.OK), run(8, ops.Lost)), 9)), []string{"shop/failed/report@2026-11-26T03:08:00Z"}},
		"one below many":           {single, keys(many-1, "%s")},
		"many":                     {crowd, append([]string{"shop/overdue"}, keys(many, "(%s)")...)},
		"many, one by itself":      {halfCrowd, append([]string{"shop/store", "shop/unknown"}, unknowns...)},
		"many without a node":      {deadCrowd, append([]string{"shop/fleet@2026-11-26T03:04:35Z", "(shop/overdue)"}, keys(many, "(%s)")...)},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range episodesOf(c.s) {
				key := e.Key
				if !e.Since.IsZero() {
					key += "@" + e.Since.Format(time.RFC3339)
				}
				if e.part {
					key = "(" + key + ")"
				}
				got = append(got, key)
				if e.Summary == "" || e.Next == "" || e.Namespace != "shop" {
					t.Errorf("%+v", e)
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The episode of many jobs names the first of them, and has the number of the others.
func TestSummaryOfMany(t *testing.T) {
	s := snapshot()
	for i := range many + 2 {
		s.Jobs = append(s.Jobs, overdue(fmt.Sprintf("job-%02d", i)))
	}
	got := episodesOf(s)[0].Summary
	if !strings.HasPrefix(got, "22 jobs are overdue: job-00, job-01, ") || !strings.HasSuffix(got, ", job-18 and 3 more") {
		t.Error(got)
	}
}

// keys returns the keys of the last n of many overdue jobs.
func keys(n int, format string) (all []string) {
	for i := many - n; i < many; i++ {
		all = append(all, fmt.Sprintf(format, fmt.Sprintf("shop/overdue/job-%02d@2026-11-26T03:07:00Z", i)))
	}
	return all
}

// The requests of one episode have one key in each replica, although the replicas see it begin at
// different times.
func TestOneKey(t *testing.T) {
	crowd := func(seen int) *ops.Snapshot {
		s := snapshot()
		for i := range many {
			j := overdue(fmt.Sprintf("job-%02d", i))
			j.Overdue[0].Tick = at(i % seen)
			s.Jobs = append(s.Jobs, j)
		}
		return s
	}
	silent := func(seen int) *ops.Snapshot {
		s := snapshot()
		s.AsOf, s.Down = at(seen), "no answer"
		return s
	}
	dead := func(int) *ops.Snapshot {
		s := snapshot(overdue("report"))
		s.Nodes = nodes(false)
		return s
	}
	for kind, see := range map[string]func(int) *ops.Snapshot{"store": silent, "overdue": crowd, "fleet": dead} {
		keys := map[string]int{}
		for seen := range 2 {
			tr := tracker{open: map[string]*opened{}}
			for _, e := range tr.next(see(seen+1), three) {
				keys[e.idempotencyKey(e.Action)]++
			}
		}
		if len(keys) != 1 {
			t.Errorf("%s: the keys are %v", kind, keys)
		}
	}
}

// The next episode of a job has the key of its earlier one, and its requests have other ones.
func TestNextEpisode(t *testing.T) {
	next := overdue("report")
	next.Overdue[0].Tick = at(8)
	a, b := episodesOf(snapshot(overdue("report")))[0], episodesOf(snapshot(next))[0]
	if a.Key != b.Key || a.idempotencyKey(trigger) == b.idempotencyKey(trigger) || a.idempotencyKey(trigger) == a.idempotencyKey(resolve) {
		t.Errorf("%q and %q", a.idempotencyKey(trigger), b.idempotencyKey(trigger))
	}
	if a.Since = (time.Time{}); a.idempotencyKey(trigger) != "shop/overdue/report/trigger" {
		t.Errorf("%q without a record since when it lasts", a.idempotencyKey(trigger))
	}
}

// The key of an episode is constant while it lasts, although the data changes since when it lasts.
func TestKeyLasts(t *testing.T) {
	lost := func(runs ...ops.Run) *ops.Snapshot {
		j := job("report", ops.Lost, runs...)
		j.Series.Last = at(6).UnixMilli()
		return snapshot(j)
	}
	later := overdue("report") // a node has decided its first tick, and the next one is overdue too
	later.Overdue[0].Tick = at(8)
	for name, c := range map[string][2]*ops.Snapshot{
		"the line of the last success leaves memory": {lost(run(6, ops.OK), run(5, ops.Lost), run(4, ops.OK)), lost(run(7, ops.Skipped), run(6, ops.OK), run(5, ops.Lost))},
		"one more tick is lost":                      {lost(run(6, ops.OK), run(5, ops.Lost), run(4, ops.OK)), lost(run(7, ops.Lost), run(6, ops.OK), run(5, ops.Lost))},
		"the first overdue tick is decided":          {snapshot(overdue("report")), snapshot(later)},
		"another run blocks the job": {snapshot(stalled(ops.Stuck, ops.Stall{Stuck: new(run(2, ops.Running))})),
			snapshot(stalled(ops.Stuck, ops.Stall{Stuck: new(run(3, ops.Running))}))},
		"the line of a pause leaves memory": {snapshot(stalled(ops.Starved, ops.Stall{Starved: at(3)})), snapshot(stalled(ops.Starved, ops.Stall{Starved: at(2)}))},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracker{settle: settleTime, open: map[string]*opened{}}
			var requests []string
			for i, s := range []*ops.Snapshot{c[0], c[0], c[1], c[1], snapshot(job("report", ops.OK))} {
				for _, e := range tr.next(s, three.Add(time.Duration(i)*settleTime)) {
					requests = append(requests, e.Action+" "+e.idempotencyKey(""))
				}
			}
			if len(requests) != 2 || strings.TrimPrefix(requests[0], trigger) != strings.TrimPrefix(requests[1], resolve) {
				t.Errorf("%q", requests)
			}
		})
	}
}

// An episode is triggered once it has lasted, and resolved once. A snapshot that does not know the
// state of its subject does not end it.
func TestTracker(t *testing.T) {
	const late, fleet, store, unknown = "shop/overdue/report", "shop/fleet", "shop/store", "shop/unknown/report"
	ok, bad := snapshot(job("report", ops.OK, run(9, ops.OK))), snapshot(overdue("report"))
	dead, silent, half, someNodes := snapshot(overdue("report")), snapshot(overdue("report")), snapshot(job("report", ops.Unknown)), snapshot(job("report", ops.OK, run(9, ops.OK)))
	dead.Nodes, silent.Down = nodes(false), "connection refused"
	half.Faults, half.Jobs[0].Series.Err = []string{"half"}, errors.New("connection refused")
	someNodes.Nodes = ops.NewNodeList(series.MemberList{}, errors.New("connection refused"))
	broken := snapshot(job("report", ops.Unknown)) // the store answers, and the journal of the job cannot be read
	crowd, fewer, lost, found := snapshot(), snapshot(), snapshot(), snapshot()
	for i := range many {
		name := fmt.Sprintf("job-%02d", i)
		crowd.Jobs, fewer.Jobs, lost.Jobs = append(crowd.Jobs, overdue(name)), append(fewer.Jobs, job(name, ops.OK)), append(lost.Jobs, job(name, ops.Unknown))
	}
	found.Jobs = append(lost.Jobs[:1:1], fewer.Jobs[1:]...)
	type step struct {
		after time.Duration
		s     *ops.Snapshot
		want  []string
	}
	for name, steps := range map[string][]step{
		"one tick":                          {{0, bad, nil}, {29 * time.Second, bad, nil}, {time.Second, bad, []string{"trigger " + late}}, {time.Hour, bad, nil}, {0, ok, []string{"resolve " + late}}, {0, ok, nil}},
		"another problem follows":           {{0, bad, nil}, {time.Minute, bad, []string{"trigger " + late}}, {0, snapshot(job("report", ops.Failing, run(9, ops.Failing))), []string{"resolve " + late}}},
		"too short":                         {{0, ok, nil}, {0, bad, nil}, {29 * time.Second, ok, nil}, {time.Minute, ok, nil}},
		"the store is silent meanwhile":     {{0, bad, nil}, {time.Minute, bad, []string{"trigger " + late}}, {0, silent, nil}, {time.Minute, silent, []string{"trigger " + store}}, {0, bad, []string{"resolve " + store}}, {0, ok, []string{"resolve " + late}}},
		"its partition is silent meanwhile": {{0, bad, nil}, {time.Minute, bad, []string{"trigger " + late}}, {0, half, nil}, {time.Minute, half, []string{"trigger " + store}}, {0, ok, []string{"resolve " + late, "resolve " + store}}},
		"the fleet stands for its jobs":     {{0, dead, nil}, {time.Minute, dead, []string{"trigger " + fleet}}, {0, bad, []string{"resolve " + fleet, "trigger " + late}}, {0, ok, []string{"resolve " + late}}},
		"a job before its fleet":            {{0, bad, nil}, {time.Minute, bad, []string{"trigger " + late}}, {0, dead, nil}, {time.Minute, dead, []string{"trigger " + fleet}}, {0, ok, []string{"resolve " + fleet, "resolve " + late}}},
		"the nodes are not known":           {{0, ok, nil}, {0, dead, nil}, {time.Minute, dead, []string{"trigger " + fleet}}, {0, someNodes, nil}, {0, ok, []string{"resolve " + fleet}}},
		"open at the start":                 {{0, bad, nil}, {29 * time.Second, ok, []string{"resolve " + late}}, {0, bad, nil}, {29 * time.Second, ok, nil}},
		"a part at the start":               {{0, dead, nil}, {0, ok, []string{"resolve " + fleet, "resolve " + late}}},
		"silent at the start":               {{0, silent, nil}, {0, bad, []string{"resolve " + store}}, {0, ok, []string{"resolve " + late}}},
		"half silent at the start":          {{0, half, nil}, {0, bad, []string{"resolve " + store, "resolve " + unknown}}, {0, ok, []string{"resolve " + late}}},
		"silent for a moment":               {{0, ok, nil}, {0, silent, nil}, {0, bad, nil}, {0, ok, nil}},
		"silent before it has lasted":       {{0, ok, nil}, {0, bad, nil}, {10 * time.Second, silent, nil}, {30 * time.Second, silent, []string{"trigger " + store}}, {0, ok, []string{"resolve " + store}}},
		"one job stays unknown":             {{0, half, nil}, {time.Minute, half, []string{"trigger " + store}}, {0, broken, []string{"resolve " + store, "trigger " + unknown}}, {0, ok, []string{"resolve " + unknown}}},
		"another job is unknown":            {{0, bad, nil}, {time.Minute, bad, []string{"trigger " + late}}, {0, snapshot(job("backup", ops.Unknown), ok.Jobs[0]), []string{"resolve " + late}}},
		"its job is removed":                {{0, bad, nil}, {time.Minute, bad, []string{"trigger " + late}}, {0, snapshot(job("backup", ops.OK)), []string{"resolve " + late}}},
		"many, of which one is unknown":     {{0, crowd, nil}, {time.Minute, crowd, []string{"trigger shop/overdue"}}, {0, found, nil}, {0, fewer, []string{"resolve shop/overdue"}}},
		"many are unknown, and then one":    {{0, lost, nil}, {time.Minute, lost, []string{"trigger shop/unknown"}}, {0, found, []string{"resolve shop/unknown", "trigger shop/unknown/job-00"}}, {0, fewer, []string{"resolve shop/unknown/job-00"}}},
		"many at the start":                 {{0, crowd, nil}, {0, fewer, []string{"resolve shop/overdue"}}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracker{settle: settleTime, open: map[string]*opened{}}
			now := three
			for i, c := range steps {
				now = now.Add(c.after)
				var got []string
				for _, e := range tr.next(c.s, now) {
					got = append(got, e.Action+" "+e.Key)
				}
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("step %d: %q, want %q", i, got, c.want)
				}
			}
		})
	}
}

// The triggers of open episodes that were left to another replica are taken from it once. The end of an episode, and
// one that has ended, are not.
func TestTaken(t *testing.T) {
	tr := tracker{open: map[string]*opened{}}
	bad := tr.next(snapshot(overdue("a"), overdue("b")), three)
	tr.leave(bad)
	tr.leave(tr.next(snapshot(overdue("a"), job("b", ops.OK)), three))
	tr.leave(bad)
	if got := tr.taken(); len(bad) != 2 || len(got) != 1 || got[0].Key != "shop/overdue/a" || got[0].Action != trigger {
		t.Errorf("%+v of %+v", got, bad)
	}
	tr.leave([]event{{resolve, bad[0].episode}}) // of the time before it opened again
	tr.settle = time.Minute
	tr.next(snapshot(overdue("a"), overdue("b")), three)
	tr.leave(bad[1:]) // of an earlier episode: this one may end before it has lasted, and then has no end to send
	if got := tr.taken(); len(got) != 0 {
		t.Errorf("taken again: %+v", got)
	}
}

// A heartbeat says that all is decided.
func TestBeatable(t *testing.T) {
	dead, silent, old := snapshot(job("report", ops.OK)), snapshot(job("report", ops.OK)), snapshot(job("report", ops.OK))
	dead.Nodes, silent.Down, old.Read = nodes(false), "connection refused", time.Now().Add(-2*oldest)
	for name, c := range map[string]struct {
		s    *ops.Snapshot
		want bool
	}{
		"ok": {snapshot(job("report", ops.OK)), true}, "failing": {snapshot(job("report", ops.Failing, run(8, ops.Failing))), true}, "overdue": {snapshot(overdue("report")), false},
		"dead": {dead, false}, "silent": {silent, false}, "old": {old, false}, "no job": {snapshot(), false},
	} {
		if got := beatable(c.s); (got == "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
