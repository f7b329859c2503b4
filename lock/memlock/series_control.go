package memlock

import (
	"context"
	"slices"
	"strings"

	"github.com/cronce/cronce/lock/series"
)

// An audit is the newest records of control changes, the oldest first.
type audit struct {
	records []series.AuditRecord
	last    int64 // the number of the newest
}

// Control implements [series.Controlled].
func (s *Store) Control(ctx context.Context, c series.Control) series.ControlAnswer {
	if err := doubt(ctx, string(c.Action), c.Key); err != nil {
		return series.ControlAnswer{Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.now().UnixMicro()
	r := s.record(c.Key)
	a, made := r.Control(us, &c, s.audit.last+1, s.writer(r))
	if made != nil {
		s.audit.add(*made)
		if a.Number != 0 || c.Action == series.ActionCancel {
			s.notify(strings.Clone(c.Key))
		}
	}
	return a
}

// add appends a record. It does not keep a caller's longer text in memory.
func (a *audit) add(r series.AuditRecord) {
	a.last = r.Number
	if len(a.records) == series.MaxAudit {
		a.records = slices.Delete(a.records, 0, 1)
	}
	r.Key = strings.Clone(r.Key)
	a.records = append(a.records, r)
}

// Audit implements [series.Controlled].
func (s *Store) Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error) {
	if err := doubt(ctx, "read the audit of", key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []series.AuditRecord
	for _, r := range slices.Backward(s.audit.records) {
		if n > 0 && len(found) == n {
			break
		}
		if key == "" || r.Key == key {
			found = append(found, r)
		}
	}
	slices.Reverse(found)
	return found, nil
}
