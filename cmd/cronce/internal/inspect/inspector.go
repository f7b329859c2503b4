// Package inspect has the commands that read a namespace and report it: verify, status overdue, why and doctor.
// None of them changes the store.
package inspect

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
)

// An inspector reads the state of a namespace and reports it. It changes nothing.
type inspector struct{ *clients.Store }

// inspect calls f with the store that the command's flags name.
func inspect(cmd *cobra.Command, f func(ctx context.Context, s inspector) error) error {
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error { return f(ctx, inspector{s}) })
}

// Prove verifies all jobs of a namespace, as the command verify does. The proof's OK is the
// verdict.
func Prove(ctx context.Context, s *clients.Store) (*Proof, error) {
	p, err := inspector{s}.prove(ctx, verifyFlags{})
	if err != nil {
		return nil, err
	}
	p.OK = p.fault("") == nil
	return p, nil
}

// Print writes the proof as a table for a person.
func (p *Proof) Print(w io.Writer) error { return printProof(w, p) }
