package procmem

import (
	"bytes"
	"strconv"
)

// Births tells whether any task was born, on the whole machine: the last field of /proc/loadavg is the number that was
// given out last in this pid namespace (fs/proc/loadavg.c). Not safe for concurrent use.
type Births struct {
	fd   int
	last [24]byte
	n    int
}

// OpenBirths opens the file. Errors: those of open(2), as an error of this package.
func OpenBirths() (*Births, error) {
	fd, e := open([]byte("/proc/loadavg\x00"), 0)
	if e != 0 {
		return nil, classify(e)
	}
	b := &Births{fd: fd}
	b.Any()
	return b, nil
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
