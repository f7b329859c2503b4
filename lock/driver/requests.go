package driver

import (
	"cmp"
	"fmt"
)

// CheckForce returns an *ArgumentError for a forced unlock that no store supports.
func CheckForce(f *ForceRequest) error {
	if err := cmp.Or(CheckKey(f.Key), CheckName("ID", f.ID), CheckName("by", f.By)); err != nil {
		return err
	}
	if f.Reason == "" || len(f.Reason) > MaxReason || !prints(f.Reason) {
		return Refuse("reason", Quote(f.Reason), fmt.Sprintf("1 to %d bytes of printable UTF-8", MaxReason))
	}
	if f.From < 0 || f.From > f.To || f.To > MaxNumber {
		return Refuse("fences", fmt.Sprintf("%d to %d", f.From, f.To), fmt.Sprintf("0 to %d, the first not above the last", int64(MaxNumber)))
	}
	return nil
}

// CheckReplicas returns an *ArgumentError for a number of replicas that no store supports.
func CheckReplicas(n int) error {
	if n < 0 || n > MaxReplicas {
		return Refuse("replicas", fmt.Sprint(n), fmt.Sprintf("0 to %d", MaxReplicas))
	}
	return nil
}

// CheckAcquisition returns an *ArgumentError for an acquisition that no store supports.
func CheckAcquisition(a *Acquisition) error {
	return cmp.Or(checkLease(a.Key, a.Owner, a.Fence, 0), CheckTTL(a.TTL), checkLimit(a.Limit), CheckReplicas(a.Replicas))
}

// checkLease checks the reference of a plain lease, whose fence must be least or more.
func checkLease(key, owner string, fence, least int64) error {
	return cmp.Or(CheckKey(key), CheckName("owner", owner), CheckRange("fence", fence, least))
}

func checkLimit(limit int) error {
	if limit < 0 || limit > NoLimit {
		return Refuse("limit", fmt.Sprint(limit), fmt.Sprintf("0 or 1 (alone) to NoLimit, %d (any number)", NoLimit))
	}
	return nil
}

// checkAcquireAll returns an *ArgumentError for acquisitions that no store supports in one step.
func checkAcquireAll(as []Acquisition) error {
	if err := checkCount(len(as)); err != nil {
		return err
	}
	keys := make(map[string]bool, len(as))
	for i := range as {
		a := &as[i]
		switch {
		case keys[a.Key]:
			return Refuse("key", Quote(a.Key), "each key once")
		case a.Owner != as[0].Owner:
			return Refuse("owner", Quote(a.Owner), "one owner for all keys")
		}
		if err := CheckAcquisition(a); err != nil {
			return err
		}
		keys[a.Key] = true
	}
	return nil
}

// CheckRenewal returns an *ArgumentError for a renewal of a plain lease that no store supports.
func CheckRenewal(h *LeaseRef) error {
	return cmp.Or(checkLease(h.Key, h.Owner, h.Fence, 1), CheckTTL(h.TTL), CheckReplicas(h.Replicas))
}

// CheckRelease returns an *ArgumentError for a release of a plain lease that no store supports.
func CheckRelease(h *LeaseRef) error {
	return checkLease(h.Key, h.Owner, h.Fence, 0)
}
