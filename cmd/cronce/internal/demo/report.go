package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs/sms"
)

// reportTimeout bounds the reads after the nodes have stopped.
const reportTimeout = 15 * time.Second

// A Report is the result of a demo.
type Report struct {
	Type          string     `json:"type"` // report
	OK            bool       `json:"ok"`
	Kills         int        `json:"kills"`
	Started       int        `json:"started"`       // "run started" in the logs, by job, tick and attempt
	StartedTwice  int        `json:"started_twice"` // how many of these more than once
	Accepted      int        `json:"accepted"`      // messages in the outbox at the beginning
	Outbox        sms.Counts `json:"outbox"`
	Printed       int        `json:"printed"`       // messages that the gateways printed
	PrintedTwice  int        `json:"printed_twice"` // how many of these more than once
	Proof         any        `json:"proof"`
	RunForSeconds float64    `json:"run_for_seconds"`
}

// report verifies the work of the nodes by the journal, by their logs and by the messages that were
// sent.
func (s *store) report(log *logView, n *nodes, took time.Duration) error {
	ctx, stop := context.WithTimeout(context.Background(), reportTimeout) // Ctrl-C has ended the other context
	defer stop()
	p, err := s.Prove(ctx)
	if err != nil {
		return err
	}
	counts, err := s.Outbox.Counts(ctx)
	if err != nil {
		return s.Failed(err)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	r := Report{Type: "report", Kills: n.kills, Accepted: messages, Outbox: counts, Proof: p.Report, RunForSeconds: took.Seconds()}
	r.Started, r.StartedTwice = len(log.started), repeats(log.started)
	r.Printed, r.PrintedTwice = len(log.sent), repeats(log.sent)
	r.OK = r.holds(p.OK)
	if err := r.show(log, p); err != nil {
		return err
	}
	if !r.OK {
		return ErrBroken
	}
	return nil
}

// holds reports whether all sources agree that nothing happened twice. A node that is killed
// between request and mark leaves a message that is sent again, so with kills messages may repeat.
func (r *Report) holds(proven bool) bool {
	return proven && r.StartedTwice == 0 && (r.PrintedTwice == 0 || r.Kills > 0)
}

func (r *Report) show(log *logView, p Proof) error {
	if log.json {
		log.emit(r)
		return nil
	}
	fmt.Fprintln(log.w)
	if err := p.Print(log.w); err != nil {
		return err
	}
	if r.Kills > 0 {
		fmt.Fprintf(log.w, "Nodes that were killed: %d.\n", r.Kills)
	}
	fmt.Fprintf(log.w, "The logs say the same: runs started %d, %s.\n", r.Started, never(r.StartedTwice, "none of them twice"))
	_, err := fmt.Fprintln(log.w, r.messages())
	return err
}

// messages describes the messages in a sentence.
func (r *Report) messages() string {
	if r.Outbox.Sent == 0 {
		return fmt.Sprintf("Of %d messages none was sent yet.", r.Accepted)
	}
	said := fmt.Sprintf("Of %d messages %d were sent, %s", r.Accepted, r.Outbox.Sent, never(r.PrintedTwice, "each once"))
	if r.PrintedTwice > 0 && r.Kills > 0 {
		said += ": their node was killed between request and mark; a gateway drops the repeat by its key"
	}
	if left := r.Accepted - r.Outbox.Sent; left > 0 {
		said += fmt.Sprintf("; %d still wait", left)
	}
	return said + "."
}

// never formats a number of repeats; it returns none for 0.
func never(n int, none string) string {
	if n == 0 {
		return none
	}
	return fmt.Sprintf("%d TWICE", n)
}
