package stock_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

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
	folder := appendLogOf(t, client)
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
	if r, err := s.RestoreWith(t.Context(), stock.RestoreOptions{Log: log, TakeOver: true}); err != nil || len(r.Lost) != 0 || len(r.Taken) != 3 {
		t.Fatalf("RestoreWith = %+v, %v, want %s taken", r, err, taken)
	}
	if after := wantState(t, s, "new", stock.Reserved); !after.Due.Equal(before.Due) {
		t.Errorf("due %v, was %v", after.Due, before.Due)
	}
	wantState(t, s, "dropped", stock.Cancelled)
	wantState(t, s, "old", stock.Paid)
	wantProduct(t, s, "tea", 5, 3, 1, 1)
	if _, err := s.RestoreWith(t.Context(), stock.RestoreOptions{Log: log, TakeOver: true}); !errors.Is(err, stock.ErrNothingToRestore) {
		t.Errorf("again: %v, want ErrNothingToRestore", err)
	}

	// The log has more than there is room for, since the database has less than it had: it lists what it does not take.
	reserve(t, s, order("big", stock.Item{SKU: "tea", Quantity: 3}))
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	execute(t, p, "UPDATE product SET put_in = 4")
	if log, err = s.ReadAppendLog(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	r, err := s.RestoreWith(t.Context(), stock.RestoreOptions{Log: log, TakeOver: true})
	if err != nil || len(r.Taken) != 0 || len(r.Lost) != 1 || r.Lost[0].ID != "big" || r.Lost[0].Reason != "there is not enough left for it" {
		t.Errorf("RestoreWith = %+v, %v, want big not taken", r, err)
	}
	wantProduct(t, s, "tea", 4, 2, 1, 1)
	wantBrokenLogs(t, s, folder)
}

// appendLogOf is where a server has its append log.
func appendLogOf(t *testing.T, client redis.UniversalClient) string {
	t.Helper()
	dir, err := client.ConfigGet(t.Context(), "dir").Result()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir["dir"], "appendonlydir")
}

// loggedSale is a sale of five tea in a store with an append log, and what reads that.
func loggedSale(t *testing.T, args ...string) (s *stock.Sale, client redis.UniversalClient, p place, read func() *stock.AppendLog) {
	t.Helper()
	client, p = connect(t, redisServer(t, append([]string{"--appendonly", "yes", "--appendfsync", "always"}, args...)...)), sqlite(t)
	s = keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	settle(t, s, p, 1, 0)
	return s, client, p, func() *stock.AppendLog {
		t.Helper()
		log, err := s.ReadAppendLog(t.Context(), appendLogOf(t, client))
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
}

// An order is lost, and listed, and its buyer goes on without it. After the next loss the log still has it: it does not come
// back, neither reserved nor paid. An order of the latest loss does, also after a rebuild that came to no end.
func TestAppendLogHasAnEarlierLoss(t *testing.T) {
	t.Parallel()
	s, client, p, read := loggedSale(t)
	reserve(t, s, order("early"))
	reserve(t, s, order("early-paid"))
	if _, err := pay(t.Context(), s, "early-paid"); err != nil {
		t.Fatal(err)
	}
	emptyAndRebuild(t, client, s)
	reserve(t, s, order("late"))
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	victim := connect(t, client.(*redis.Client).Options().Addr)
	victim.AddHook(&endAfter{n: 6, err: errors.New("crash")})
	if _, err := newSale(t, victim, stock.Options{Book: p.Database}).Restore(shortly(t)); err == nil {
		t.Fatal("it has come to its end")
	}
	log := read()
	if log.Orders() != 1 || log.Earlier != 2 {
		t.Errorf("the log has %d orders, %d left out, want 1 and 2", log.Orders(), log.Earlier)
	}
	if r, err := s.RestoreWith(t.Context(), stock.RestoreOptions{Log: log, TakeOver: true}); err != nil || fmt.Sprint(r.Taken) != "[late]" || len(r.Lost) != 0 {
		t.Errorf("RestoreWith = %+v, %v, want late taken", r, err)
	}
	wantProduct(t, s, "tea", 5, 4, 1, 0)
	for _, id := range []string{"early", "early-paid"} {
		if _, err := s.Order(t.Context(), id); !errors.Is(err, stock.ErrUnknownOrder) {
			t.Errorf("%s: %v, want it unknown", id, err)
		}
	}
}

// What has ended does not begin again: an order that the book has as cancelled and the log as paid, which is disputed, one that was
// freed in the log alone, and a disputed one of which an operator has decided that it goes on under another id.
func TestAppendLogRevivesNothing(t *testing.T) {
	t.Parallel()
	s, client, p, read := loggedSale(t)
	for _, id := range []string{"cancelled", "freed", "decided"} {
		reserve(t, s, order(id))
	}
	for _, id := range []string{"cancelled", "decided"} {
		if _, err := pay(t.Context(), s, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Free(t.Context(), stock.Decision{Order: "freed", By: "ada", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	line, err := client.Get(t.Context(), saleTag+"order:decided").Result()
	if err != nil {
		t.Fatal(err)
	}
	placed := wantState(t, s, "cancelled", stock.Paid).Placed.UnixMilli()
	execute(t, p, "INSERT INTO orders (sale, id, receiver, buyer, phone, amount, currency, status, placed_at, due_at, changed_at, settled_at, payments)"+
		fmt.Sprintf(" VALUES ('cronce:shop', 'cancelled', 'Ada Lovelace, London', '', '', 625, 'EUR', 'cancelled', %d, 1, 1, 1, 0)", placed),
		"INSERT INTO stock_decision (sale, id, made_at, made_by, action, order_id, sku, new_id, store_has, book_has, reason)"+
			" VALUES ('cronce:shop', 'd-1', 1, 'ada', 'accept', 'decided', '', 'decided-b', '"+line+"', '', 'test')")
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r, err := s.RestoreWith(t.Context(), stock.RestoreOptions{Log: read()})
	if err != nil || fmt.Sprint(r.Taken) != "[freed]" || len(r.Lost) != 1 || r.Lost[0].ID != "cancelled" || r.Disputed != 1 {
		t.Errorf("RestoreWith = %+v, %v, want cancelled disputed", r, err)
	}
	wantState(t, s, "freed", stock.Cancelled)
	if _, err := s.Order(t.Context(), "decided"); !errors.Is(err, stock.ErrUnknownOrder) {
		t.Errorf("decided: %v, want it unknown", err)
	}
	p.wantLines(t, productRows, "tea 5 0 0")
}

// An append log of several files, of which the first is one of commands, is read as one; a snapshot is left, as Redis writes it by default,
// and what follows it in the same file, as before version 7, is read. A log of nothing else is an error.
func TestAppendLogFiles(t *testing.T) {
	t.Parallel()
	for _, preamble := range []string{"yes", "no"} {
		s, client, _, read := loggedSale(t, "--aof-use-rdb-preamble", preamble)
		reserve(t, s, order("based"))
		if err := client.BgRewriteAOF(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		await(t, "the log is rewritten", func() bool {
			info := client.Info(t.Context(), "persistence").Val()
			return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0") && strings.Contains(info, "aof_last_bgrewrite_status:ok") &&
				len(read().Read)+len(read().NotRead) == 2 && slices.ContainsFunc(append(read().Read, read().NotRead...), func(name string) bool { return strings.Contains(name, ".2.base.") })
		})
		reserve(t, s, order("since"))
		log := read()
		want := map[string]string{"yes": "[appendonly.aof.2.incr.aof] [appendonly.aof.2.base.rdb] 1", "no": "[appendonly.aof.2.base.aof appendonly.aof.2.incr.aof] [] 2"}[preamble]
		if got := fmt.Sprint(log.Read, log.NotRead, log.Orders()); got != want {
			t.Errorf("preamble %s: read %s, want %s", preamble, got, want)
		}
		folder := appendLogOf(t, client)
		parts := [][]byte{readFile(t, folder, "appendonly.aof.2.base."+map[string]string{"yes": "rdb", "no": "aof"}[preamble]), readFile(t, folder, "appendonly.aof.2.incr.aof")}
		wantAppendLog(t, s, slices.Concat(parts...), log.Orders(), "")
		if preamble == "yes" {
			wantAppendLog(t, s, parts[0], 0, "a snapshot in RDB form alone")
			wantAppendLog(t, s, append(slices.Clone(parts[0][:len(parts[0])-1]), 'x'), 0, "a snapshot in RDB form alone")
			wantAppendLog(t, s, slices.Concat(parts[0], parts[1], []byte("garbage\r\n")), 0, fmt.Sprintf("offset %d: no append log", len(parts[0])+len(parts[1])))
			continue
		}
		wantSeveral(t, s, parts)
	}
}

func readFile(t *testing.T, folder, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// wantAppendLog reads an append log of one file.
func wantAppendLog(t *testing.T, s *stock.Sale, text []byte, orders int, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "appendonly.aof")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	switch log, err := s.ReadAppendLog(t.Context(), file); {
	case want == "" && (err != nil || log.Orders() != orders):
		t.Errorf("%v, %v, want %d orders", log, err, orders)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%v, want %q", err, want)
	}
}

// wantSeveral reads an append log whose second part is cut into two files, between two commands and within one.
func wantSeveral(t *testing.T, s *stock.Sale, parts [][]byte) {
	t.Helper()
	at := bytes.LastIndex(parts[1], []byte("*1\r\n$5\r\nMULTI\r\n"))
	for cut, want := range map[int]string{at: "", at + 5: "b.2.aof: offset 0: the command has no end"} {
		folder := t.TempDir()
		for name, text := range map[string]string{"a.aof": string(parts[0]), "b.2.aof": string(parts[1][:cut]), "b.10.aof": "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n" + string(parts[1][cut:]),
			"x.manifest": "file b.10.aof seq 10 type i\nfile a.aof seq 1 type b\nfile b.2.aof seq 2 type i\nfile gone seq 1 type h\n"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		log, err := s.ReadAppendLog(t.Context(), folder)
		if want == "" && (err != nil || log.Orders() != 2 || len(log.Read) != 3) {
			t.Errorf("%+v, %v, want two orders of three files", log, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), "the command has no end")) {
			t.Errorf("%v, want %q", err, want)
		}
	}
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
		if c.want == "" && (err != nil || log.Orders() != 4) {
			t.Errorf("cut: %v, want 4 orders", err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("garbled: %v, want %q", err, c.want)
		}
	}
}
