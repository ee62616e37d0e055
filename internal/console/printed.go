// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Print writes to standard output. A reader that stops early, such as head, is no error.
func Print(write func(io.Writer) error) error {
	NoteDiscarded()
	out := bufio.NewWriter(os.Stdout)
	err := cmp.Or(write(out), out.Flush())
	if errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}
