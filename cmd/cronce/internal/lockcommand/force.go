package lockcommand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// forceFlags require --force-unlock.
var forceFlags = []string{"reason", "who", "fence"}

// forceLock frees a lock that others hold, and prints the record in the store. It takes the lock
// from the owner with the fence in f, or from the present owners. A request that arrives late does
// not free the lock of a later owner.
func (s lockStore) forceLock(ctx context.Context, w io.Writer, f driver.ForceRequest, output string) error {
	locker := lock.New(s.Driver, "")
	if f.To == 0 {
		holders, err := locker.Holders(ctx, f.Key)
		if err != nil {
			return s.notForced(err, &f)
		}
		if f.To = latestFence(holders); f.To == 0 {
			return s.notForced(driver.ErrFree, &f)
		}
	}
	made, err := locker.Force(ctx, f)
	if err != nil {
		return s.notForced(err, &f)
	}
	if output == command.OutputJSON {
		return terminal.PrintJSON(w, forcedReportOf(&made))
	}
	return showForced(w, []driver.ForceRecord{made})
}

// latestFence returns the highest fence of the holders of a lock; 0: no holder.
func latestFence(holders []driver.Holder) (latest int64) {
	for i := range holders {
		latest = max(latest, holders[i].Fence)
	}
	return latest
}

// notForced returns the error for a lock that was not freed by force.
func (s lockStore) notForced(err error, f *driver.ForceRequest) error {
	switch {
	case errors.Is(err, driver.ErrFree) && f.From > 0:
		return exit.With(exit.Refused, fmt.Errorf("lock %q is held by no owner with the fence %d: nothing was done", f.Key, f.From))
	case errors.Is(err, driver.ErrFree):
		return exit.With(exit.Refused, fmt.Errorf("lock %q is held by no owner: nothing was done", f.Key))
	case errors.Is(err, lock.ErrUnsupported):
		return exit.Usage(err)
	}
	if _, bad := errors.AsType[*lock.ArgumentError](err); bad {
		return exit.Usage(err)
	}
	return s.Failed(err)
}

type forcedReport struct {
	At         string              `json:"at,omitempty"` // RFC 3339 in UTC, on the store's clock
	By         string              `json:"by,omitempty"`
	Reason     string              `json:"reason,omitempty"`
	Holders    int                 `json:"holders"` // number of holders
	Owners     []forcedOwnerReport `json:"owners"`  // the first holders
	Unreadable string              `json:"unreadable,omitempty"`
}

type forcedOwnerReport struct {
	Owner string `json:"owner"`
	Fence int64  `json:"fence"`
	Note  string `json:"note,omitempty"`
}

func forcedReportOf(f *driver.ForceRecord) forcedReport {
	r := forcedReport{By: f.By, Reason: f.Reason, Holders: f.Holders, Owners: []forcedOwnerReport{}, Unreadable: f.Unreadable}
	if f.Unreadable == "" {
		r.At = time.UnixMilli(f.At).UTC().Format(time.RFC3339Nano)
	}
	for _, o := range f.Owners {
		r.Owners = append(r.Owners, forcedOwnerReport(o))
	}
	return r
}

// showForced prints forced unlocks, with a row for each owner.
func showForced(w io.Writer, all []driver.ForceRecord) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FREED BY FORCE\tBY\tFROM\tFENCE\tNOTE\tREASON")
	for i := range all {
		f := &all[i]
		if f.Unreadable != "" {
			terminal.PrintRow(table, "unreadable", "", "", "", "", f.Unreadable)
			continue
		}
		at := terminal.RFC3339(f.At)
		for _, o := range f.Owners {
			terminal.PrintRow(table, at, f.By, o.Owner, terminal.Number(o.Fence), o.Note, f.Reason)
		}
		if more := f.Holders - len(f.Owners); more > 0 {
			terminal.PrintRow(table, at, f.By, fmt.Sprintf("and %d more", more), "", "", f.Reason)
		}
	}
	return table.Flush()
}
