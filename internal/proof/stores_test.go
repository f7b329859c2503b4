package proof_test

import (
	"testing"

	"github.com/cronce/cronce/internal/proof"
)

// elsewhere runs a scenario with members on the other stores that have numbered
// leases. Scenarios there are as short as they can be: what differs is the store.
func elsewhere(t *testing.T, scenario func(*testing.T, proof.Program)) {
	t.Helper()
	for _, b := range []proof.Backend{proof.PostgreSQL, proof.ZooKeeper} {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			scenario(t, proof.Member.On(b))
		})
	}
}

// The promise does not hang on Redis: nodes are killed, runs overlap and ticks are
// missed on the other stores, too.
func TestOtherStores(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]func(*testing.T, proof.Program){
		"kill": kill, "overlap": overlapPolicies, "misfire": misfirePolicies,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			elsewhere(t, scenario)
		})
	}
}
