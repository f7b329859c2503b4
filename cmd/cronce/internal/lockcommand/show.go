package lockcommand

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// lockNode returns a unique name for this process, which begins with its host.
func lockNode() string {
	host, _ := os.Hostname() // without a host the name is still unique
	node := host + "-" + uuid.NewString()[:13]
	if len(node) > driver.MaxKey/2 || driver.CheckName("node", node) != nil {
		return ""
	}
	return node
}

// A Report describes a lock in JSON.
type Report struct {
	Key     string         `json:"key"`
	Holders []holderReport `json:"holders"` // the earliest grant first
	Waiting int            `json:"waiting"` // processes
	Forced  []forcedReport `json:"forced"`  // unlocks, the oldest first
}

type holderReport struct {
	Owner  string `json:"owner"`
	Fence  int64  `json:"fence"` // 0: the lock is reserved for this owner
	LeftMs int64  `json:"left_ms"`
	Limit  *int   `json:"limit"` // the most holders at the same time; null: no bound
	Note   string `json:"note,omitempty"`
}

// showLock prints the holders of a lock, and the operators that freed it by force.
func (s lockStore) showLock(ctx context.Context, w io.Writer, key, output string) error {
	locker := lock.New(s.Driver, "") // it acquires no lock
	holders, err := locker.Holders(ctx, key)
	if err != nil {
		return s.Failed(err)
	}
	at, err := locker.Inspect(ctx, key)
	if err != nil {
		return s.Failed(err)
	}
	forced, err := locker.ForceRecords(ctx, key)
	if err != nil {
		return s.Failed(err)
	}
	if output == command.OutputJSON {
		return terminal.PrintJSON(w, lockReportOf(key, holders, at.Waiting, forced))
	}
	if err := showHolders(w, key, holders, at.Waiting); err != nil || len(forced) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return showForced(w, forced)
}

func showHolders(w io.Writer, key string, holders []driver.Holder, waiting int) error {
	if len(holders) == 0 {
		_, err := fmt.Fprintf(w, "%s is free\n", strconv.Quote(key))
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "OWNER\tFENCE\tLEFT\tHOLDS IT\tNOTE")
	for _, h := range holders {
		terminal.PrintRow(table, h.Owner, terminal.Number(h.Fence), h.Left.Round(time.Millisecond), holds(&h), h.Note)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d waiting\n", waiting)
	return err
}

// holds describes how the lock is held.
func holds(h *driver.Holder) string {
	how := fmt.Sprintf("with up to %d", h.Limit)
	switch h.Limit {
	case 1:
		how = "alone"
	case lock.NoLimit:
		how = "shared"
	}
	if h.Fence == 0 {
		return "next, " + how
	}
	return how
}

func lockReportOf(key string, holders []driver.Holder, waiting int, forced []driver.ForceRecord) *Report {
	r := &Report{Key: key, Holders: make([]holderReport, len(holders)), Waiting: waiting, Forced: make([]forcedReport, len(forced))}
	for i := range forced {
		r.Forced[i] = forcedReportOf(&forced[i])
	}
	for i, h := range holders {
		r.Holders[i] = holderReport{Owner: h.Owner, Fence: h.Fence, LeftMs: h.Left.Milliseconds(), Note: h.Note}
		if h.Limit != lock.NoLimit {
			r.Holders[i].Limit = new(h.Limit)
		}
	}
	return r
}
