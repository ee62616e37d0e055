// SPDX-License-Identifier: Apache-2.0

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
	// RunsOn: the thread was stopped while it ran. It goes on at once, so that nobody needs to ask.
	RunsOn bool
	// Counts, if not nil, keeps open what is asked of the kernel.
	Counts *Counts
}

// Counts asks how often threads have run, and keeps the files open of those that were asked about last. It is for one
// goroutine.
type Counts struct {
	budget *procmem.Budget
	files  [keptCounts]*procmem.ThreadFiles
}

// keptCounts is of how many threads files are kept open, and leftOver how many descriptors are left to all others.
const (
	keptCounts = 16
	leftOver   = 512
)

// NewCounts gives one that has nothing open.
func NewCounts() *Counts { return &Counts{budget: procmem.NewBudget(leftOver)} }

// runs gives a thread's run count.
func (c *Counts) runs(pid, tid int) (uint64, error) {
	kept := &c.files[tid%keptCounts]
	f := *kept
	if f == nil || f.PID() != pid || f.TID() != tid {
		if f != nil {
			f.Close()
		}
		f = procmem.OpenThread(pid, tid, c.budget)
		*kept = f
	}
	now, err := f.SchedStat()
	if err != nil { // it has ended, and its number may be another thread's by now
		f.Close()
		*kept = nil
	}
	return now.Runs, err
}

// Close closes all files.
func (c *Counts) Close() {
	for i, f := range c.files {
		if f != nil {
			f.Close()
			c.files[i] = nil
		}
	}
}

// Read implements managed.Live.
func (l *Live) Read(addr uint64, b []byte) int { return l.Mem(addr, b) }

// Unchanged implements managed.Live: the run count is that of the copy. A kernel that does not count says 0, which
// proves nothing.
func (l *Live) Unchanged() bool {
	if l.RunsOn {
		return false
	}
	if l.Counts != nil {
		runs, err := l.Counts.runs(l.PID, l.TID)
		return err == nil && runs == l.Runs && l.Runs != 0
	}
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
