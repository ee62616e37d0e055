// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// rescuer reaps threads for which a seizure waits, and ends overdue sleeps, on its own OS thread.
type rescuer struct {
	seizeBegan atomic.Int64   // on the clock of Now; 0: no seizure
	seizeSeen  atomic.Bool    // a seizure began since the last check
	tids       []atomic.Int32 // of attachments, by index
	end        chan struct{}
	once       sync.Once
}

const (
	reapEvery         = 50 * time.Millisecond
	reapRarely        = 8 * reapEvery
	seizeBlockedAfter = 5 * time.Millisecond // usual: 2 µs
)

func (r *rescuer) run(a *alarm) {
	every := reapEvery
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-r.end:
			return
		case <-timer.C:
		}
		now, began := procmem.Now(), r.seizeBegan.Load()
		if every = min(2*every, reapRarely); r.seizeSeen.Swap(false) || began != 0 {
			every = reapEvery
		}
		timer.Reset(every)
		if began != 0 && now-began > int64(seizeBlockedAfter) {
			r.reap()
		}
		a.endIfOverdue(now)
	}
}

// reap omits first threads: exec waits only for their exit, and their status may belong to another wait.
func (r *rescuer) reap() {
	for i := range r.tids {
		tid := int(r.tids[i].Load())
		if tid == 0 {
			continue
		}
		var st procmem.Status
		if procmem.ReadStatus(tid, &st) != nil || st.Tgid == tid {
			continue
		}
		var info sigInfo
		_ = waitid(unix.P_PID, tid, unix.WEXITED|unix.WALL, &info) // fails if another wait took it
	}
}
