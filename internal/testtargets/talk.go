// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"bufio"
	"io"
	"os/exec"
)

// Talk starts a program that takes commands from its standard input.
func Talk(tb TB, cmd *exec.Cmd) (in io.Writer, says *bufio.Reader) {
	tb.Helper()
	to, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	logErrors(tb, cmd)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = to.Close() // its children may end with it
		Kill(cmd)
	})
	limitLife(tb, cmd)
	return to, bufio.NewReader(from)
}
