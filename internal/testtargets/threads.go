// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"bufio"
	"os/exec"
)

// Threads starts src/threads.c, whose arguments are the threads' work. says has its output after "ready".
func Threads(tb TB, args ...string) (pid int, says *bufio.Reader) {
	tb.Helper()
	exe, err := Compile("threads.c", "-O1", "-g0")
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	says = Ready(tb, cmd)
	return cmd.Process.Pid, says
}
