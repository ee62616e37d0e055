// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"strconv"
)

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
