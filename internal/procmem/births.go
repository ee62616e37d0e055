// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"strconv"
)

// Births tells whether any task was born, on the whole machine: the kernel tells the number that was given out last in
// this pid namespace. A task in a namespace inside of it has a number here, too. One that is given a number of
// somebody's choice is not seen (clone3(2), set_tid). Not safe for concurrent use.
type Births struct {
	fd   int
	last [24]byte
	n    int
}

// birthFiles have that number as their last field. The first has nothing else (kernel/pid_namespace.c,
// pid_ns_ctl_handler); it takes CONFIG_CHECKPOINT_RESTORE. For the second each processor is asked (fs/proc/loadavg.c),
// and in a container it can be another program's, some seconds old (lxcfs).
var birthFiles = [...]string{"/proc/sys/kernel/ns_last_pid\x00", "/proc/loadavg\x00"}

// OpenBirths opens the file. Errors: those of open(2), as an error of this package.
func OpenBirths() (*Births, error) {
	var last error
	for _, name := range birthFiles {
		fd, e := open([]byte(name), 0)
		if e != 0 {
			last = classify(e)
			continue
		}
		b := &Births{fd: fd}
		if b.Any(); b.Last() > 0 {
			return b, nil
		}
		b.Close()
		last = ErrFormat
	}
	return nil, last
}

// Close closes the file.
func (b *Births) Close() { closeFD(b.fd) }

// Last gives the number that was given out last, as of the last call of Any; 0 if that is not known.
func (b *Births) Last() int {
	n, err := strconv.Atoi(string(b.last[:b.n]))
	if err != nil {
		return 0
	}
	return n
}

// Any reports whether a task was born since it was called last. True if that is not known.
func (b *Births) Any() bool {
	var buf [64]byte
	n, e := pread(b.fd, buf[:], 0)
	if e != 0 || n == 0 {
		return true
	}
	line := bytes.TrimRight(buf[:n], "\n")
	field := line[bytes.LastIndexByte(line, ' ')+1:]
	if len(field) > len(b.last) || bytes.Equal(field, b.last[:b.n]) {
		return len(field) > len(b.last)
	}
	b.n = copy(b.last[:], field)
	return true
}
