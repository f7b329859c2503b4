package main

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
)

// A Suite measures some rows of the table.
type Suite struct {
	Name string
	Run  func(context.Context, *Env) ([]Row, error)
}

var suites = []Suite{
	{"cluster", cluster},
	{"every", every},
	{"commands", commands},
	{"cpu", cpu},
	{"scale", scale},
	{"timetable", timetable},
	{"burst", burst},
	{"rate", rate},
	{"claims", claims},
	{"lock", locks},
	{"crowd", crowd},
	{"hot", hot},
	{"quorum", quorum},
	{"held", held},
	{"reserve", reserve},
	{"shop", shop},
	{"queue", queue},
	{"zookeeper", zookeeper},
	{"backlog", backlog},
	{"silent", silent},
	{"takeover", takeover},
	{"stores", stores},
}

// A Row is one line of the table.
type Row struct {
	What     string
	Reach    string // the target
	Measured string
	Peer     string // the results of other libraries in the same run
	OK       bool   // the target was reached
}

// also adds another measured value, and whether it reaches the target.
func (r *Row) also(ok bool, format string, args ...any) {
	if r.Measured != "" {
		r.Measured += "; "
	}
	r.Measured += fmt.Sprintf(format, args...)
	r.OK = r.OK && ok
}

// beside adds the result of another peer.
func (r *Row) beside(format string, args ...any) {
	if r.Peer != "" {
		r.Peer += "; "
	}
	r.Peer += fmt.Sprintf(format, args...)
}

// An Env holds the options of the command line.
type Env struct {
	Quick bool
	Ticks int    // of the cluster suite; 0: its default
	Plots string // a folder for plots; empty: there are none
	Log   io.Writer
}

func (e *Env) logf(format string, args ...any) {
	fmt.Fprintf(e.Log, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// either returns the full or the quick version of a value.
func either[T any](e *Env, full, quick T) T {
	if e.Quick {
		return quick
	}
	return full
}

// onServer calls f with the address of a fresh redis-server.
func onServer[R any](ctx context.Context, f func(addr string) (R, error)) (r R, err error) {
	err = onHost(ctx, func(t testing.TB) (err error) {
		r, err = f(redisserver.Start(t).Addr())
		return err
	})
	return r, err
}
