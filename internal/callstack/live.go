// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/internal/procmem"
)

// Live is a process's memory while a sample is walked: [managed.Live]. It is reused.
type Live struct {
	Mem func(addr uint64, b []byte) int // returns the number of bytes read
	// TID is the sampled thread, Runs its run count at the copy if off the processor.
	PID, TID int
	Runs     uint64
	RunsOn   bool    // the thread was stopped while running: it has run since
	Counts   *Counts // optional: keeps the files of run counts open
}

// Counts reads run counts, and keeps the last files open. For one goroutine at a time.
type Counts struct {
	budget *procmem.Budget
	files  [keptCounts]*procmem.ThreadFiles
}

// keptCounts is the number of open files; leftOver descriptors are left to others.
const (
	keptCounts = 16
	leftOver   = 512
)

// NewCounts opens no file.
func NewCounts() *Counts { return &Counts{budget: procmem.NewBudget(leftOver)} }

func (c *Counts) runCount(pid, tid int) (uint64, error) {
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
	if err != nil { // it has ended; its ID may be reused
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

// Read implements [managed.Live].
func (l *Live) Read(addr uint64, b []byte) int { return l.Mem(addr, b) }

// Unchanged reports whether the run count is the copy's. 0, of a kernel without counts, proves nothing.
func (l *Live) Unchanged() bool {
	if l.RunsOn {
		return false
	}
	if l.Counts != nil {
		runs, err := l.Counts.runCount(l.PID, l.TID)
		return err == nil && runs == l.Runs && l.Runs != 0
	}
	f := procmem.OpenThread(l.PID, l.TID, nil)
	defer f.Close()
	now, err := f.SchedStat()
	return err == nil && now.Runs == l.Runs && l.Runs != 0
}

// Still is a core's memory as a [managed.Live].
type Still func(addr uint64, b []byte) int

// Read implements [managed.Live].
func (s Still) Read(addr uint64, b []byte) int { return s(addr, b) }

// Unchanged implements [managed.Live].
func (Still) Unchanged() bool { return true }
