package callstack

import (
	"prywalk/internal/procmem"
)

// Live is the memory of a process while a shot of one of its threads is walked. It implements managed.Live. It can be
// used again for the next shot.
type Live struct {
	// Mem reads memory and gives the number of bytes read.
	Mem func(addr uint64, b []byte) int
	// TID is the thread's number, Runs its run count as of the copy, when it was not on a processor.
	PID, TID int
	Runs     uint64
}

// Read implements managed.Live.
func (l *Live) Read(addr uint64, b []byte) int { return l.Mem(addr, b) }

// Unchanged implements managed.Live: the run count is that of the copy. A kernel that does not count says 0, which
// proves nothing.
func (l *Live) Unchanged() bool {
	f := procmem.OpenThread(l.PID, l.TID, nil)
	defer f.Close()
	now, err := f.SchedStat()
	return err == nil && now.Runs == l.Runs && l.Runs != 0
}

// Still is the memory of a core: it never changes. It implements managed.Live.
type Still func(addr uint64, b []byte) int

// Read implements managed.Live.
func (s Still) Read(addr uint64, b []byte) int { return s(addr, b) }

// Unchanged implements managed.Live.
func (Still) Unchanged() bool { return true }
