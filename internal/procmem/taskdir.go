// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// direntBuf is the size of the buffer for directory entries: about 1,000 threads
// with each call.
const direntBuf = 32 << 10

// TaskDir lists the threads of a process through a kept-open /proc/PID/task. Not
// safe for concurrent use.
type TaskDir struct {
	fd     int
	budget *Budget
	kept   bool
	buf    [direntBuf]byte
}

// OpenTasks opens the list of a process's threads. It takes one descriptor of the
// budget if there is one left, and opens the directory in any case. Errors:
// [refusal.Gone], [refusal.Denied].
func OpenTasks(pid int, budget *Budget) (*TaskDir, error) {
	var p pathBuf
	fd, e := open(p.process(pid, "task"), unix.O_DIRECTORY)
	if e != 0 {
		return nil, classify(e)
	}
	return &TaskDir{fd: fd, budget: budget, kept: budget.Take(1)}, nil
}

// KeepWithin counts the directory in a budget, if that has one left and it is not counted yet.
func (d *TaskDir) KeepWithin(budget *Budget) {
	if !d.kept {
		d.budget, d.kept = budget, budget.Take(1)
	}
}

// Close closes the directory. It must be called once.
func (d *TaskDir) Close() {
	closeFD(d.fd)
	d.fd = -1
	if d.kept {
		d.budget.Give(1)
	}
}

// List appends the threads' numbers to tids, in the kernel's order, and gives
// the result; it allocates only if tids has no room. A thread that starts or ends
// meanwhile may be in it or not. [refusal.Gone] when the process has ended (a zombie
// still lists its first thread).
func (d *TaskDir) List(tids []int) ([]int, error) { return d.ListFrom(0, tids) }

// ListFrom is List without the first n threads, which the kernel passes over without printing them. The order is
// that of the threads' births, so that the youngest come last (kernel fs/proc/base.c, first_tid).
func (d *TaskDir) ListFrom(n int, tids []int) ([]int, error) {
	const dots = 2 // . and .. come before the first
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

// Count gives the number of the process's threads, without listing them: the
// directory's link count is 2 more (kernel fs/proc/base.c, proc_task_getattr). 0
// when the process has ended. Less than 1 µs, however many there are.
func (d *TaskDir) Count() (int, error) {
	st, e := fstat(d.fd)
	if e != 0 {
		return 0, classify(e)
	}
	return max(int(st.Nlink)-2, 0), nil
}

// appendTasks takes the numeric names out of a buffer of struct linux_dirent64
// (getdents64(2)): inode 8, offset 8, length 2, type 1, name.
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

// taskNumber reads a name that ends in NUL as a number, 0 if it is none.
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

// ListTasks appends the numbers of a process's threads to tids, opening the
// directory for this once.
func ListTasks(pid int, tids []int) ([]int, error) {
	d, err := OpenTasks(pid, nil)
	if err != nil {
		return tids, err
	}
	defer d.Close()
	return d.List(tids)
}
