package redislock

import (
	"context"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// ClockFrom makes the scripts on series read the clock from the fields s and u
// of a hash instead of asking the server.
func (d *Driver) ClockFrom(key string) {
	d.scripts = load(func(name string) string {
		src, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		return strings.Replace(string(src), "call('TIME')", "call('HMGET', '"+key+"', 's', 'u')", 1)
	})
}

// What tests of the formats need.
var (
	Escape   = escape
	Unescape = unescape
	ReadLine = readLine

	ReadGrants  = readGrants
	ReadMany    = readMany
	ReadHolders = readHolders

	ManyAskScript = embedded.manyAsk
)

// ReadAnswer reads what the claim script says of one claim at a time in ms.
func ReadAnswer(now int64, text string, c *driver.Claim) driver.Answer {
	return claims.answer(instant(now*1000), text, c)
}

// Desert takes a place for an owner that never answers.
func (d *Driver) Desert(ctx context.Context, a driver.Acquisition) error {
	_, err := d.LookInLine(ctx, a)
	return err
}

// LookInLine asks as a waiter does each time it looks, without a subscription.
func (d *Driver) LookInLine(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return d.unsure(&a).ask(ctx)
}

// DesertSure is Desert of a process whose subscription was confirmed, and is no more.
func (d *Driver) DesertSure(ctx context.Context, a driver.Acquisition) error {
	w := d.unsure(&a)
	w.seat = seat{"+" + w.seat.inbox, true}
	_, err := w.ask(ctx)
	return err
}

func (d *Driver) unsure(a *driver.Acquisition) *waiter {
	return &waiter{driver: d, a: a, seat: seat{inbox: d.inbox.channel}}
}

// Inbox is the channel on which waiters are told.
func (d *Driver) Inbox() string { return d.inbox.channel }

// GiveUp does what a waiter does that gives up.
func (d *Driver) GiveUp(ctx context.Context, a driver.Acquisition) { d.unsure(&a).giveUp(ctx) }

// Gathered is how many requests wait for a flight.
func (d *Driver) Gathered() int {
	g := d.gathers.only
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		return 0
	}
	return len(g.next.members)
}

// OverdueAfter sets after what time a flight no longer counts, NeverOverdue that it
// always does.
func (d *Driver) OverdueAfter(late time.Duration) { d.gathers.only.late = late }
func (d *Driver) NeverOverdue()                   { d.OverdueAfter(1000 * time.Hour) }

// ManyAsk names the script that serves several who ask.
func ManyAsk() string { return embedded.manyAsk.Hash() }

// The bounds of flights.
const (
	Overdue     = overdue
	MostFlights = mostFlights
)

// Flying is how many flights are under way.
func (d *Driver) Flying() int {
	g := d.gathers.only
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.flying
}
