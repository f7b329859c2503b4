package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/ops"
)

const auditRecords = 100 // of a page

// audit reads the newest records of a job or of the namespace, the newest first, and the first
// number that is missing among them.
func (h *Handler) audit(ctx context.Context, job string, n int) (views []ops.AuditView, gap string, err error) {
	a, ok := h.o.Store.(auditor)
	if !ok {
		return nil, "", driver.ErrUnsupported
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	records, err := a.Audit(ctx, job, n)
	if err != nil {
		return nil, "", err
	}
	views = ops.AuditViews(records)
	slices.Reverse(views)
	return views, ops.AuditGaps(h.o.Store, job, records), nil
}

func (h *Handler) apiAudit(w http.ResponseWriter, r *http.Request) {
	n, ok := limit(w, r)
	if !ok {
		return
	}
	s := h.o.Projection.Snapshot()
	job := r.FormValue("job")
	if job != "" && s.Job(job) == nil {
		problem(w, r, http.StatusNotFound, "not-found", "there is no such job on record")
		return
	}
	views, gap, err := h.audit(r.Context(), job, n)
	switch {
	case errors.Is(err, driver.ErrUnsupported):
		problem(w, r, http.StatusNotImplemented, "unsupported", "the store of this plane keeps no audit")
	case err != nil:
		unreachable(w, r)
	default:
		l := listOf(s, views, "")
		l.Gap = gap
		answer(w, l)
	}
}

// An auditBody is the body of the page of the audit.
type auditBody struct {
	Job     string
	Records []ops.AuditView
	Gap     string
	Fault   string
	Whole   bool // there are no older records
}

func (h *Handler) auditPage(w http.ResponseWriter, r *http.Request) {
	s := h.o.Projection.Snapshot()
	b := auditBody{Job: r.FormValue("job")}
	status := http.StatusOK
	if b.Job != "" && s.Job(b.Job) == nil {
		status, b.Fault = http.StatusNotFound, "There is no job of this name on record."
	} else if views, gap, err := h.audit(r.Context(), b.Job, auditRecords); err != nil {
		b.Fault = "Not known: the store does not answer."
		if errors.Is(err, driver.ErrUnsupported) {
			b.Fault = "The store of this plane keeps no audit."
		}
	} else {
		b.Records, b.Gap, b.Whole = views, gap, len(views) < auditRecords
	}
	title := "Audit"
	if b.Job != "" {
		title = fmt.Sprintf("Audit of %s", clip(b.Job))
	}
	h.show(w, r, status, "audit", view{Title: title, Nav: "audit", S: s, Body: b, Refresh: true})
}
