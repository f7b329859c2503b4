package stock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
)

// Orders are accepted and acknowledged while nothing settles them, and the store forgets everything: what the
// book does not have is taken over from the append log, with its deadline, as far as there is room, and counts.
// What the buyer has cancelled stays so, and one that the log has paid is paid.
func TestRestoreFromAppendLog(t *testing.T) {
	server := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client, p := connect(t, server.Addr()), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	reserve(t, s, order("old"))
	settle(t, s, p, 1, 1)
	before := reserve(t, s, order("new"))
	reserve(t, s, order("dropped"))
	if _, err := s.Cancel(t.Context(), "dropped"); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(t.Context(), s, "old"); err != nil {
		t.Fatal(err)
	}
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	dir, err := client.ConfigGet(t.Context(), "dir").Result()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir["dir"], "appendonlydir")
	log, err := s.ReadAppendLog(t.Context(), folder)
	if err != nil || fmt.Sprint(log.NotRead, log.Read) != "[appendonly.aof.1.base.rdb] [appendonly.aof.1.incr.aof]" || log.Orders() != 3 {
		t.Fatalf("read %v, not %v, %d orders, %v", log.Read, log.NotRead, log.Orders(), err)
	}
	const taken = "[old dropped new]"
	would, err := s.WouldRestoreWith(t.Context(), log)
	if err != nil || len(would.Lost) != 0 || len(would.Taken) != 3 {
		t.Errorf("WouldRestoreWith = %+v, %v, want %s taken", would, err, taken)
	}
	if bare, err := s.WouldRestore(t.Context()); err != nil || len(bare.Taken) != 0 {
		t.Errorf("WouldRestore = %+v, %v, want none taken", bare, err)
	}
	if r, err := s.RestoreWith(t.Context(), log); err != nil || len(r.Lost) != 0 || len(r.Taken) != 3 {
		t.Fatalf("RestoreWith = %+v, %v, want %s taken", r, err, taken)
	}
	if after := wantState(t, s, "new", stock.Reserved); !after.Due.Equal(before.Due) {
		t.Errorf("due %v, was %v", after.Due, before.Due)
	}
	wantState(t, s, "dropped", stock.Cancelled)
	wantState(t, s, "old", stock.Paid)
	wantProduct(t, s, "tea", 5, 3, 1, 1)
	if _, err := s.RestoreWith(t.Context(), log); !errors.Is(err, stock.ErrNothingToRestore) {
		t.Errorf("again: %v, want ErrNothingToRestore", err)
	}

	// The log has more than there is room for, once the rest was sold: it lists what it does not take.
	big := order("big", stock.Item{SKU: "tea", Quantity: 3})
	reserve(t, s, big)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	reserve(t, s, order("since"))
	settle(t, s, p, 2, 1)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if log, err = s.ReadAppendLog(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	r, err := s.RestoreWith(t.Context(), log)
	if err != nil || len(r.Taken) != 0 || len(r.Lost) != 1 || r.Lost[0].ID != "big" || r.Lost[0].Reason != "there is not enough left for it" {
		t.Errorf("RestoreWith = %+v, %v, want big not taken", r, err)
	}
	wantProduct(t, s, "tea", 5, 2, 2, 1)
	wantBrokenLogs(t, s, folder)
}

// wantBrokenLogs checks a copy of a log whose end is missing, then with a garbled middle.
func wantBrokenLogs(t *testing.T, s *stock.Sale, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "appendonly.aof.1.incr.aof"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy.aof")
	for _, c := range []struct {
		text, want string
	}{
		{string(text[:len(text)-3]), ""},
		{string(text) + "garbage\r\n", fmt.Sprintf("%s: offset %d: no append log", file, len(text))},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := s.ReadAppendLog(t.Context(), file)
		if c.want == "" && (err != nil || log.Orders() != 5) {
			t.Errorf("cut: %v, want 5 orders", err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("garbled: %v, want %q", err, c.want)
		}
	}
}
