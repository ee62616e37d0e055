// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"strconv"
)

// Births detects new tasks on the machine, by the latest id of this pid namespace. It misses chosen ids
// (clone3(2), set_tid). Not safe for concurrent use.
type Births struct {
	fd   int
	last [24]byte
	n    int
}

// birthFiles have that id as last field. ns_last_pid needs CONFIG_CHECKPOINT_RESTORE; loadavg is slower.
var birthFiles = [...]string{"/proc/sys/kernel/ns_last_pid\x00", "/proc/loadavg\x00"}

// OpenBirths opens one of them. Errors: as open(2).
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

// Last gives the id at the last Any; 0: unknown.
func (b *Births) Last() int {
	n, err := strconv.Atoi(string(b.last[:b.n]))
	if err != nil {
		return 0
	}
	return n
}

// Any reports tasks created since the last call; true if unknown.
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
