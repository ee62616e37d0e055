// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"os/exec"
	"strings"
)

// Errors is what a small program of a test's own writes to its standard error. It is in a file, so that nobody has to
// read it, and children that outlive the program hold nobody up.
type Errors struct{ file *os.File }

// mostErrors is how many bytes are given: the last ones.
const mostErrors = 4 << 10

// KeepErrors has a command that is not started yet write its errors there. It is closed by its user.
func KeepErrors(cmd *exec.Cmd) (*Errors, error) {
	file, err := os.CreateTemp("", "prywalk-errors-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // nobody needs its name, whatever becomes of the test
	cmd.Stderr = file
	return &Errors{file}, nil
}

// String gives the end of what was written so far.
func (e *Errors) String() string {
	info, err := e.file.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), mostErrors))
	n, _ := e.file.ReadAt(text, info.Size()-int64(len(text)))
	return strings.TrimSpace(string(text[:n]))
}

// Close ends the keeping.
func (e *Errors) Close() { _ = e.file.Close() }

// tellErrors keeps a command's errors, if they go nowhere, and tells them if the test fails: why a program has ended
// is there. Call it before the program's end is prepared, so that it is told after that.
func tellErrors(tb TB, cmd *exec.Cmd) {
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
