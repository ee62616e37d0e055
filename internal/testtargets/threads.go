// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"bufio"
	"os/exec"
)

// Threads starts src/threads.c, its arguments being what its threads do, and waits until it is ready. It returns
// the pid and the program's later output, and kills the program at the test's end.
func Threads(tb TB, args ...string) (pid int, says *bufio.Reader) {
	tb.Helper()
	exe, err := Compile("threads.c", "-O1", "-g0") // names are those of the symbol table
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	says = Ready(tb, cmd)
	return cmd.Process.Pid, says
}
