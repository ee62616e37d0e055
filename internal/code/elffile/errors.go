// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"errors"
	"fmt"
)

// Errors for [errors.Is].
var (
	// ErrNotELF means that the file does not begin as ELF files do.
	ErrNotELF = errors.New("not an ELF file")
	// ErrClass32 means a 32-bit file, x32 included.
	ErrClass32 = errors.New("32-bit ELF files are not supported")
	// ErrMachine means another processor, or big-endian.
	ErrMachine = errors.New("ELF file for an unsupported processor")
	// ErrNoSection means that there is no such section.
	ErrNoSection = errors.New("no such section")
	// errNoBits means that the contents are in another file, from which debug information was split.
	errNoBits = errors.New("section without contents in this file")
	// errTooBig means a size over a limit of this package.
	errTooBig = errors.New("larger than the limit")
)

// FormatError is a violation of the ELF format.
type FormatError struct {
	// What is the part and the violation.
	What string
	// Off is the part's file offset.
	Off uint64
}

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("malformed ELF file: %s at offset %#x", e.What, e.Off)
}
