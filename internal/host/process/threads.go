// SPDX-License-Identifier: Apache-2.0

package process

import (
	"prywalk/internal/base/refusal"
	"prywalk/internal/host/procmem"
)

// Threads appends the ids of the threads to buf[:0] in the kernel's order; some may have ended. After the process's end
// the error is an [*Error] of [refusal.Exited].
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
		err = refusal.Exited
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
