package redislock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cronce/cronce/lock/series"
)

// Peek implements [series.Peeker]. It peeks at up to 200 numbers of one partition with one script that
// writes nothing. On each tick all nodes but one need only this, so it costs little: a settled run
// is one letter, and equal ones share their answer.
func (d *Driver) Peek(ctx context.Context, ps []series.NumberRef, whole bool) ([]*series.Answer, error) {
	answers := make([]*series.Answer, len(ps))
	if len(d.keys.partitions) == 1 && len(ps) <= maxBatch {
		return answers, d.peekAt(ctx, part{at: inOrder[:len(ps)]}, ps, whole, answers)
	}
	var mu sync.Mutex
	var failed error
	sideBySide(d.peekParts(ps), func(p part) {
		if err := d.peekAt(ctx, p, ps, whole, answers); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = err
		}
	})
	return answers, failed
}

// inOrder are the indexes of a part that has all requests.
var inOrder = func() (at [maxBatch]int) {
	for i := range at {
		at[i] = i
	}
	return at
}()

func (d *Driver) peekParts(ps []series.NumberRef) []part {
	partitions := make([][]int, len(d.keys.partitions))
	for i := range ps {
		partition := d.keys.partition(ps[i].Key)
		partitions[partition] = append(partitions[partition], i)
	}
	var parts []part
	for partition, all := range partitions {
		for at := range slices.Chunk(all, maxBatch) {
			parts = append(parts, part{partition: partition, at: at})
		}
	}
	return parts
}

// peekAt peeks at the numbers of a part.
func (d *Driver) peekAt(ctx context.Context, p part, ps []series.NumberRef, whole bool, answers []*series.Answer) error {
	if len(p.at) == 0 {
		return nil
	}
	reply, err := d.peeked(ctx, p, ps, whole)
	if err == nil {
		err = readPeeks(reply, p.at, ps, answers)
	}
	if err != nil {
		return fmt.Errorf("redislock: peek: %w", err)
	}
	return nil
}

// peeked runs the script for a part.
func (d *Driver) peeked(ctx context.Context, p part, ps []series.NumberRef, whole bool) (any, error) {
	r := d.newRequest(p.partition)
	r.key("none", "")
	for _, i := range p.at {
		r.key("s:", escape(ps[i].Key))
	}
	first, same := ps[p.at[0]].Number, true
	r.text(string(flag(whole)))
	r.number(first)
	for _, i := range p.at {
		same = same && ps[i].Number == first
	}
	if !same {
		for _, i := range p.at[1:] {
			r.number(ps[i].Number)
		}
	}
	answer, err := d.runAlone(ctx, d.scripts.peek, r, 0, 0)
	return answer.reply, err
}

// readPeeks reads the store's clock, a letter for each number, and a line for each letter that has
// one.
func readPeeks(reply any, at []int, ps []series.NumberRef, answers []*series.Answer) error {
	text, ok := reply.(string)
	clock, text, _ := strings.Cut(text, "\n")
	letters, lines, _ := strings.Cut(text, "\n")
	if !ok || len(letters) != len(at) {
		return fmt.Errorf("%w: %.80q", errUnreadable, fmt.Sprint(reply))
	}
	now, err := readClock(clock)
	if err != nil {
		return err
	}
	r := peekReader{now: now, lines: lines}
	for k, i := range at {
		answers[i] = r.read(letters[k], &ps[i])
	}
	return nil
}

// A peekReader reads answers in their order.
type peekReader struct {
	now        instant
	lines      string
	done, lost *series.Answer // shared by consecutive answers with the same letter and number
}

// read reads one answer. An answer that cannot be read is returned as not decided.
func (r *peekReader) read(letter byte, p *series.NumberRef) *series.Answer {
	switch letter {
	case '-':
		return nil
	case 'd':
		return r.settled(&r.done, series.RunDone, p.Number)
	case 'l':
		return r.settled(&r.lost, series.RunLost, p.Number)
	}
	var line string
	line, r.lines, _ = strings.Cut(r.lines, "\n")
	var a series.Answer
	ok := false
	if letter == '=' {
		a, ok = readAnswer(r.now, line, &series.Claim{Key: p.Key, Number: p.Number})
	} else {
		a, ok = readPart(r.now.ms(), letter, line, p.Number)
	}
	if !ok || a.Kind != series.KindPassed {
		return nil
	}
	return &a
}

func (r *peekReader) settled(last **series.Answer, state series.RunState, number int64) *series.Answer {
	if *last == nil || (*last).Number != number {
		*last = &series.Answer{Kind: series.KindPassed, Number: number, State: state, Mark: number, Now: r.now.ms()}
	}
	return *last
}

// readPart reads attempt|fence|until|owner of a run whose state is letter.
func readPart(now int64, letter byte, line string, number int64) (series.Answer, bool) {
	f := fields{rest: line}
	r := series.Run{Number: number, State: states[letter]}
	r.Attempt, r.Fence, r.Until = int(f.count(f.text())), f.count(f.text()), f.count(f.text())
	r.Owner = f.raw(f.end())
	a := series.Answer{Kind: series.KindPassed, Mark: number, Now: now}
	speak(&a, &r, now)
	return a, !f.bad && r.State != series.RunNone
}
