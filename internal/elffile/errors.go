// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"errors"
	"fmt"
)

// Errors that callers branch on; compare with [errors.Is].
var (
	// ErrNotELF means that the first bytes are not those of an ELF file.
	ErrNotELF = errors.New("not an ELF file")
	// ErrClass32: a 32-bit file, x32 included, which prywalk does not read.
	ErrClass32 = errors.New("32-bit ELF files are not supported")
	// ErrMachine means a file that is made for a processor that prywalk does not know, or
	// big-endian.
	ErrMachine = errors.New("ELF file for an unsupported processor")
	// ErrNoSection means that the file has no such section.
	ErrNoSection = errors.New("no such section")
	// ErrNoBits means that the section takes no space in this file; its contents are
	// elsewhere (the file that debug information was split from).
	ErrNoBits = errors.New("section without contents in this file")
	// ErrTooBig means that a size is over the limit of this package.
	ErrTooBig = errors.New("larger than the limit")
)

// FormatError reports a place where a file breaks the ELF format.
type FormatError struct {
	// What names the part and what is wrong with it.
	What string
	// Off is the file offset of the part.
	Off uint64
}

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("malformed ELF file: %s at offset %#x", e.What, e.Off)
}
