package renew

import "sync"

// FenceFloors are the highest fences that this process was granted, by key. Each is a floor for the next
// grant of its key, and of no other key, which another server may judge by another clock. Keys that
// were not used for long are forgotten, so FenceFloors has at most twice floorsKept keys. The zero value
// is ready to use.
type FenceFloors struct {
	mu    sync.Mutex
	young map[string]int64
	old   map[string]int64 // the previous young map; nil: there was none
}

// floorsKept bounds the memory: about 100 bytes a key, 6 MB in all.
const floorsKept = 1 << 15

// Of returns the floor of a key, 0 if none is known.
func (f *FenceFloors) Of(key string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.get(key)
}

func (f *FenceFloors) get(key string) int64 {
	if fence, known := f.young[key]; known {
		return fence
	}
	return f.old[key]
}

// Raise raises the floor of a key to a fence. The caller has checked the fence, since a floor is
// never lowered.
func (f *FenceFloors) Raise(key string, fence int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fence = max(fence, f.get(key))
	if len(f.young) >= floorsKept {
		f.young, f.old = f.old, f.young
		clear(f.young)
	}
	if f.young == nil {
		f.young = make(map[string]int64)
	}
	f.young[key] = fence
}
