// SPDX-License-Identifier: Apache-2.0

package process

import (
	"prywalk/internal/base/errs"
	"prywalk/internal/host/procmem"
)

// Threads appends the ids of the threads to buf[:0] in the kernel's order; some may have ended. After the process's end
// the error is an [*Error] of [errs.Exited].
func (p *Process) Threads(buf []int) ([]int, error) {
	if p.tasks == nil {
		d, err := procmem.OpenTasks(p.PID, nil)
		if err != nil {
			return buf[:0], defaultProc.explain(p.PID, err)
		}
		p.tasks = d // stays this process's, even if the id is reused
	}
	out, err := p.tasks.List(buf[:0])
	if err == nil && len(out) == 0 {
		err = errs.Exited
	}
	return out, defaultProc.explain(p.PID, err)
}

// ThreadName returns "" if the thread has ended.
func (p *Process) ThreadName(tid int) string {
	var name procmem.Comm
	if procmem.ReadComm(tid, &name) != nil {
		return ""
	}
	return name.String()
}

// ThreadWatch reports whether threads of a live process sleep. It implements managed.Watch.
type ThreadWatch struct {
	of    *Process
	files map[int]*procmem.ThreadFiles // by InnerTID
	runs  map[int]uint64
}

// WatchThreads returns a watch, to be closed.
func (p *Process) WatchThreads() *ThreadWatch { return &ThreadWatch{of: p, runs: map[int]uint64{}} }

func (w *ThreadWatch) open() {
	w.files = map[int]*procmem.ThreadFiles{}
	tids, _ := w.of.Threads(nil)
	for _, tid := range tids {
		w.files[procmem.InnerTID(tid)] = procmem.OpenThread(w.of.PID, tid, nil)
	}
}

// Close closes the threads' files.
func (w *ThreadWatch) Close() {
	for _, f := range w.files {
		f.Close()
	}
}

// Mark implements managed.Watch. A thread that sleeps after its run count was read has slept while that is unchanged.
func (w *ThreadWatch) Mark(tids []int) bool {
	if w.files == nil {
		w.open()
	}
	clear(w.runs)
	if tids == nil {
		for tid := range w.files {
			tids = append(tids, tid)
		}
	}
	for _, tid := range tids {
		f := w.files[tid]
		if f == nil {
			return false
		}
		var st procmem.Stat
		sched, err := f.SchedStat()
		if err != nil || sched.Runs == 0 || f.Stat(&st) != nil || st.State == 'R' {
			return false
		}
		w.runs[tid] = sched.Runs
	}
	return true
}

// Slept implements managed.Watch.
func (w *ThreadWatch) Slept() bool {
	for tid, runs := range w.runs {
		if sched, err := w.files[tid].SchedStat(); err != nil || sched.Runs != runs {
			return false
		}
	}
	return true
}
