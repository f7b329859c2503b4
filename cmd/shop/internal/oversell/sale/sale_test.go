package sale

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// A run in which a strategy oversold that must not fails, also for machines.
func TestBroken(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var b strings.Builder
		table := newTable(&b, &Options{Stock: 1, Buyers: 1, Processes: 2, JSON: asJSON}, "")
		for name, exact := range map[string]bool{"lock": false, "reserve": true} {
			table.add(oversell.Kind{Name: name}, oversell.Result{Strategy: name, Exact: exact})
		}
		table.add(oversell.Kind{Name: "none", Wrong: oversell.Always}, oversell.Result{Strategy: "none"})
		if err := table.summary(); !errors.Is(err, ErrBroken) {
			t.Errorf("%v, want %v", err, ErrBroken)
		}
		if want := map[bool]string{false: "BROKEN: lock must", true: `"ok": false`}[asJSON]; !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing from %s", want, b.String())
		}
	}
}

// An error of a worker ends the run.
func TestWorkerError(t *testing.T) {
	responses := make(chan response, 1)
	responses <- response{Error: "no store"}
	w := &workers{all: []*worker{{name: "process 1", in: json.NewEncoder(io.Discard), responses: responses}}}
	if _, err := w.each(t.Context(), func(int) request { return request{} }); err == nil || err.Error() != "process 1: no store" {
		t.Errorf("%v", err)
	}
}
