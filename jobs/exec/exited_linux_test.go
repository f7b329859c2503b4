package exec

import "testing"

// The system may give the pid of a main process that has ended again, while its run still has other
// processes. The exit of the later process then belongs to the later run.
func TestPidOfAnEarlierRun(t *testing.T) {
	for range 20 { // the order of a map is random
		earlier, later := &wardenRun{pid: 7, reply: &reply{ID: 1, Code: 3}}, &wardenRun{pid: 7}
		earlier.ID, later.ID = 1, 2
		w := &warden{runs: map[uint64]*wardenRun{1: earlier, 2: later}, owners: map[int]*wardenRun{7: later}}
		w.exited(exit{7, 5 << 8})
		if later.reply == nil || later.reply.Code != 5 || earlier.reply.Code != 3 || w.stray || len(w.owners) != 0 {
			t.Fatalf("the earlier run has %+v, the later one %+v", earlier.reply, later.reply)
		}
	}
}
