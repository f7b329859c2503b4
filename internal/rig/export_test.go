package rig

import "time"

// Expect sets when the next measurement is due.
func (m *Meter) Expect(due time.Time) { m.expect(due) }
