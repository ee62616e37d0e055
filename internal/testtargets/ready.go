// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Ready starts a small program of a test's own, waits until it says "ready" on a line, and kills it at the test's
// end. It gives what the program says after that. Unlike a [Target], the program has no other bound: it must end by
// itself in case the test is killed.
func Ready(tb TB, cmd *exec.Cmd) *bufio.Reader {
	tb.Helper()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	tellErrors(tb, cmd)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { Kill(cmd) })
	says := bufio.NewReader(pipe)
	if line, err := says.ReadString('\n'); line != "ready\n" {
		tb.Fatal(fmt.Errorf("%v says %q, not that it is ready: %w", cmd.Args, line, err))
	}
	return says
}

// Kill ends a program that [Ready] started before the test's end, so that its file can be written to.
func Kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended, or be waited for already
	_ = cmd.Wait()
}

// Asleep waits until a program that only sleeps, and was just started, does so. Before that it may not be mapped yet:
// the kernel lets the starter go on, and gives the process its new name, while it still loads the program.
func Asleep(tb TB, pid int) {
	tb.Helper()
	for end := time.Now().Add(patience); !sleepsInItself(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatal(fmt.Errorf("process %d does not sleep: %v", pid, statFields(pid)))
		}
	}
}

// sleepsInItself reports whether a process sleeps, and the code of its program is mapped.
func sleepsInItself(pid int) bool {
	f := statFields(pid)
	if len(f) == 0 || f[0] != "S" {
		return false
	}
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // none: it has ended
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, " r-xp ") && strings.HasSuffix(line, " "+exe+"\n") {
			return true
		}
	}
	return false
}
