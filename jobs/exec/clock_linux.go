package exec

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime returns the time of CLOCK_BOOTTIME in ns. It is the same for all processes of a machine,
// and advances while the machine is suspended.
func bootTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return t.Nano()
}

// bootTimeAt returns the time of CLOCK_BOOTTIME at t, which must come from the clock of this
// process.
func bootTimeAt(t time.Time) int64 { return bootTime() + int64(time.Until(t)) }

// An alarm fires at times of CLOCK_BOOTTIME. A Go timer does not advance while the machine is
// suspended.
type alarm struct {
	fd   int
	rang chan struct{}
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("exec: making a timer: %w", err)
	}
	a := &alarm{fd, make(chan struct{}, 1)}
	go a.wait(os.NewFile(uintptr(fd), "timer"))
	return a, nil
}

// wait passes each expiry on. It runs until the process ends.
func (a *alarm) wait(f *os.File) {
	var count [8]byte
	for {
		if _, err := f.Read(count[:]); err != nil {
			return
		}
		select {
		case a.rang <- struct{}{}:
		default:
		}
	}
}

// set makes the alarm fire at a time; 0: never.
func (a *alarm) set(at int64) {
	_ = unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: unix.NsecToTimespec(at)}, nil)
}
