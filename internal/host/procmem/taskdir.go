// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"encoding/binary"
	"strconv"

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

// OpenTasks takes the descriptor from budget, if possible. Errors: [errs.Exited], [errs.Denied], or an errno.
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
// meanwhile may be missing. Error: [errs.Exited].
func (d *TaskDir) List(tids []int) ([]int, error) { return d.ListFrom(0, tids) }

// ListFrom is List without the n oldest threads (fs/proc/base.c, first_tid).
func (d *TaskDir) ListFrom(n int, tids []int) ([]int, error) {
	const dots = 2
	if e := seek(d.fd, int64(max(n, 0))+dots); e != 0 {
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
		name, _, whole := bytes.Cut(b[nameOff:n], []byte{0})
		var c Cursor
		if id := int(c.Number(name, 10)); whole && id > 0 {
			tids = append(tids, id)
		}
		b = b[n:]
	}
	return tids
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

// PIDCounter detects new tasks by the last id given in this pid namespace, except those with chosen ids (clone3(2),
// set_tid). Not safe for concurrent use.
type PIDCounter struct {
	fd   int
	last [24]byte
	n    int
}

// pidCounterFiles end in the last id. ns_last_pid needs CONFIG_CHECKPOINT_RESTORE; loadavg is slower.
var pidCounterFiles = [...]string{"/proc/sys/kernel/ns_last_pid\x00", "/proc/loadavg\x00"}

// OpenPIDCounter opens a file with the last id. Errors: those of open(2).
func OpenPIDCounter() (*PIDCounter, error) {
	var last error
	for _, name := range pidCounterFiles {
		fd, e := open([]byte(name), 0)
		if e != 0 {
			last = classify(e)
			continue
		}
		c := &PIDCounter{fd: fd}
		if c.Advanced(); c.Last() > 0 {
			return c, nil
		}
		c.Close()
		last = errFormat
	}
	return nil, last
}

// Close closes the file.
func (c *PIDCounter) Close() { closeFD(c.fd) }

// Last returns the last id as of the last Advanced, or 0 if unknown.
func (c *PIDCounter) Last() int {
	n, err := strconv.Atoi(string(c.last[:c.n]))
	if err != nil {
		return 0
	}
	return n
}

// Advanced reports whether tasks may have been created since the last call.
func (c *PIDCounter) Advanced() bool {
	var buf [64]byte
	n, e := pread(c.fd, buf[:], 0)
	if e != 0 || n == 0 {
		return true
	}
	line := bytes.TrimRight(buf[:n], "\n")
	field := line[bytes.LastIndexByte(line, ' ')+1:]
	if bytes.Equal(field, c.last[:c.n]) {
		return false
	}
	c.n = copy(c.last[:], field)
	return true
}
