// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

const direntBuf = 32 << 10 // bytes, for about 1,000 threads

// TaskDir lists a process's threads by its open /proc/PID/task. Not safe for concurrent use.
type TaskDir struct {
	fd      int
	budget  *FDBudget
	charged bool
	buf     [direntBuf]byte
}

// OpenTasks takes the descriptor from budget, if possible. Errors: [refusal.Exited], [refusal.Denied], or an errno.
func OpenTasks(pid int, budget *FDBudget) (*TaskDir, error) {
	var p pathBuf
	fd, e := open(p.process(pid, "task"), unix.O_DIRECTORY)
	if e != 0 {
		return nil, classify(e)
	}
	return &TaskDir{fd: fd, budget: budget, charged: budget.Take(1)}, nil
}

// ChargeTo takes the descriptor from budget if possible, once.
func (d *TaskDir) ChargeTo(budget *FDBudget) {
	if !d.charged {
		d.budget, d.charged = budget, budget.Take(1)
	}
}

// Close closes the directory. It must be called once.
func (d *TaskDir) Close() {
	closeFD(d.fd)
	d.fd = -1
	if d.charged {
		d.budget.Give(1)
	}
}

// List appends the threads' ids, in the kernel's order; a zombie has its first thread. Threads that start or end
// meanwhile may be missing. Error: [refusal.Exited].
func (d *TaskDir) List(tids []int) ([]int, error) { return d.ListFrom(0, tids) }

// ListFrom is List without the n oldest threads (fs/proc/base.c, first_tid).
func (d *TaskDir) ListFrom(n int, tids []int) ([]int, error) {
	const dots = 2
	to := int64(n) + dots
	if n <= 0 {
		to = 0
	}
	if e := seek(d.fd, to); e != 0 {
		return tids, classify(e)
	}
	for {
		n, e := getdents(d.fd, d.buf[:])
		if e != 0 {
			return tids, classify(e)
		}
		if n == 0 {
			return tids, nil
		}
		tids = appendTasks(tids, d.buf[:n])
	}
}

// Count returns the number of threads (fs/proc/base.c, proc_task_getattr), 0 after the process's end.
func (d *TaskDir) Count() (int, error) {
	st, e := fstat(d.fd)
	if e != 0 {
		return 0, classify(e)
	}
	return max(int(st.Nlink)-2, 0), nil
}

// appendTasks parses struct linux_dirent64 (getdents64(2)).
func appendTasks(tids []int, b []byte) []int {
	const nameOff = 19
	for len(b) > nameOff {
		n := int(binary.NativeEndian.Uint16(b[16:]))
		if n <= nameOff || n > len(b) {
			return tids
		}
		if id := taskNumber(b[nameOff:n]); id > 0 {
			tids = append(tids, id)
		}
		b = b[n:]
	}
	return tids
}

func taskNumber(name []byte) int {
	v := 0
	for i, ch := range name {
		if ch == 0 && i > 0 {
			return v
		}
		if ch < '0' || ch > '9' || v > 1<<30 {
			return 0
		}
		v = v*10 + int(ch-'0')
	}
	return 0
}

// ListTasks appends the ids of a process's threads.
func ListTasks(pid int, tids []int) ([]int, error) {
	d, err := OpenTasks(pid, nil)
	if err != nil {
		return tids, err
	}
	defer d.Close()
	return d.List(tids)
}
