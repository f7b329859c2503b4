package oversell

import (
	"context"
	"slices"
)

// A Kind describes a strategy.
type Kind struct {
	Name  string
	About string // short description
	Wrong Wrong
	SQL   bool // the product is in the database, else in Redis
	Keeps bool // is exact even after Redis has lost its data
	open  func(*Env) (Strategy, func(), error)

	prepare, forget func(*Env, context.Context) error // once per run, before and after all sales

	recover func(*Env, context.Context, Shelf, *Loss, Strategy) error // after Redis lost its data; nil: the strategy has no stock in Redis
}

// Wrong describes when a strategy sells more than there is.
type Wrong uint8

// The values of Wrong.
const (
	Never           Wrong = iota // never oversells
	Always                       // oversells when two buyers meet
	AcrossProcesses              // oversells when two buyers of different processes meet
)

// Kinds are all strategies, the wrong ones first.
func Kinds() []Kind {
	return []Kind{
		{Name: "none", About: "read, check, write", Wrong: Always, open: (*Env).openNone, recover: (*Env).fillAgain},
		{Name: "mutex", About: "a mutex in each process", Wrong: AcrossProcesses, open: (*Env).openMutex, recover: (*Env).fillAgain},
		{Name: "setnx", About: "SET NX PX, DEL; the work outlasts the TTL", Wrong: Always, open: (*Env).openSetNX, recover: (*Env).fillAgain},
		{Name: "lock", About: "a lock of ours in Redis, its fence at the stock", open: (*Env).openLock, recover: (*Env).fillAgain},
		{Name: "redlock", About: "the same lock on a majority of Redis servers", open: (*Env).openRedlock, recover: (*Env).fillAgain},
		{Name: "sql-for-update", About: "the row locked in a transaction", SQL: true, open: (*Env).openSQLForUpdate},
		{Name: "sql-lease", About: "a lock of ours in the same database, its fence at the stock", SQL: true, open: (*Env).openSQLLease,
			prepare: (*Env).makeLeases, forget: (*Env).forgetLeases},
		{Name: "sql-conditional", About: "UPDATE … WHERE stock >= 1", SQL: true, open: (*Env).openSQLConditional},
		{Name: "zookeeper", About: "a lock of ours in ZooKeeper, its fence at the stock", open: (*Env).openZooKeeper,
			prepare: (*Env).askZooKeeper, forget: (*Env).forgetZooKeeper, recover: (*Env).fillAgain},
		{Name: reserveName, About: "jobs/stock: check, take and record in one script", Keeps: true, open: (*Env).openReserve, recover: (*Env).rebuild},
	}
}

// Find returns the strategy of a name.
func Find(name string) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}
