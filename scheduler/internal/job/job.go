// Package job has the facts about a registered job that all parts of a node share: its name, its
// spec and its policies. Each changing value belongs to one part, which keeps it by the job's
// number.
package job

import (
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Job is a registered job. It is immutable. It is small, because a node may have hundreds of
// thousands of jobs.
type Job struct {
	Name      string
	Spec      *spec.Schedule // shared by jobs with the same text and zone
	Rules     *Rules         // shared by jobs with the same policies
	Hash      uint64         // of the name
	No        uint32         // in the order of registration, from 0
	Partition uint16         // the partition of the store
}

// New returns a job with its hash.
func New(name string, s *spec.Schedule, r *Rules, no uint32, partition uint16) Job {
	return Job{Name: name, Spec: s, Rules: r, Hash: rendezvous.Hash(name), No: no, Partition: partition}
}
