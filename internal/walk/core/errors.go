// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"fmt"

	"prywalk/internal/code/elffile"
)

// Error is why a file cannot be read as a core.
type Error struct {
	Cause string
	Next  string
	Err   error // read error, if any
}

// Error returns cause and remedy, without the file's name.
func (e *Error) Error() string { return e.Cause + "; " + e.Next }

// Unwrap returns the read error, such as [elffile.ErrNotELF].
func (e *Error) Unwrap() error { return e.Err }

var packed = []struct{ magic, tool string }{
	{"\x28\xb5\x2f\xfd", "zstd -d"}, {"\x1f\x8b", "gunzip"}, {"\xfd7zXZ", "unxz"},
	{"\x04\x22\x4d\x18", "lz4 -d"}, {"BZh", "bunzip2"},
}

func notCore(head []byte, err error) *Error {
	if len(head) == 0 {
		return &Error{"the file is empty", "the disk may have been full, or ulimit -c 0, when it was written", err}
	}
	for _, p := range packed {
		if len(head) >= len(p.magic) && string(head[:len(p.magic)]) == p.magic {
			return &Error{"the file is compressed", "unpack it with " + p.tool + " first", err}
		}
	}
	var format *elffile.FormatError
	switch {
	case errors.Is(err, elffile.ErrNotELF):
		return &Error{"it is not a core file (no ELF header)", "give a core that the kernel or gcore has written", err}
	case errors.Is(err, elffile.ErrClass32):
		return &Error{"it is the core of a 32-bit process", "only 64-bit x86-64 and arm64 programs are supported", err}
	case errors.Is(err, elffile.ErrMachine):
		return &Error{fmt.Sprintf("it is a file for another processor (%v)", err),
			"only 64-bit x86-64 and arm64 programs are supported", err}
	case errors.As(err, &format):
		return &Error{"the core is cut off or damaged within its headers (" + format.What + ")",
			"copy it again, or make room for a whole one", err}
	}
	return &Error{fmt.Sprintf("the core cannot be read (%v)", err), "check the file and the disk that it is on", err}
}
