// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"bufio"
	"io"
	"os/exec"
)

// Talk starts a small program of a test's own that is told what to do by its standard input, and kills it at the test's
// end. It gives both ends.
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
	tellErrors(tb, cmd)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = to.Close() // children of the program's may end with it
		Kill(cmd)
	})
	return to, bufio.NewReader(from)
}
