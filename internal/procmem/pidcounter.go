// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"strconv"
)

// PIDCounter detects new tasks by the last id that the kernel gave in this pid namespace. It misses tasks with
// chosen ids (clone3(2), set_tid). Not safe for concurrent use.
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
		b := &PIDCounter{fd: fd}
		if b.Advanced(); b.Last() > 0 {
			return b, nil
		}
		b.Close()
		last = ErrFormat
	}
	return nil, last
}

// Close closes the file.
func (b *PIDCounter) Close() { closeFD(b.fd) }

// Last returns the last id as of the last call of Advanced, or 0 if unknown.
func (b *PIDCounter) Last() int {
	n, err := strconv.Atoi(string(b.last[:b.n]))
	if err != nil {
		return 0
	}
	return n
}

// Advanced reports whether tasks were, or may have been, created since the last call.
func (b *PIDCounter) Advanced() bool {
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
