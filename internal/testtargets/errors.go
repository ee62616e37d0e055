// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"os/exec"
	"strings"
)

// Errors is standard error in a file, so that children that outlive a program block no reader.
type Errors struct{ file *os.File }

const mostErrors = 4 << 10

// KeepErrors redirects a command's errors, before its start. The caller closes the file.
func KeepErrors(cmd *exec.Cmd) (*Errors, error) {
	file, err := os.CreateTemp("", "prywalk-errors-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	cmd.Stderr = file
	return &Errors{file}, nil
}

// String returns the last 4 KiB.
func (e *Errors) String() string {
	info, err := e.file.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), mostErrors))
	n, _ := e.file.ReadAt(text, info.Size()-int64(len(text)))
	return strings.TrimSpace(string(text[:n]))
}

// Close closes the file.
func (e *Errors) Close() { _ = e.file.Close() }

// logErrors must be called before the program's end is registered.
func logErrors(tb TB, cmd *exec.Cmd) {
	tb.Helper()
	if cmd.Stderr != nil {
		return
	}
	said, err := KeepErrors(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		defer said.Close()
		t, ok := tb.(interface {
			Failed() bool
			Logf(format string, args ...any)
		})
		if !ok || !t.Failed() {
			return
		}
		if text := said.String(); text != "" {
			t.Logf("%v wrote to its standard error:\n%s", cmd.Args, text)
		}
		if cmd.ProcessState != nil {
			t.Logf("%v: %v", cmd.Args, cmd.ProcessState)
		}
	})
}
