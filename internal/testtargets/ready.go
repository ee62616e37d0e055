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

// Ready starts a program, waits for its line "ready", and kills it at the test's end.
func Ready(tb TB, cmd *exec.Cmd) *bufio.Reader {
	tb.Helper()
	return readyWithin(tb, cmd, patience)
}

func readyWithin(tb TB, cmd *exec.Cmd, limit time.Duration) *bufio.Reader {
	tb.Helper()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	logErrors(tb, cmd)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { Kill(cmd) })
	limitLife(tb, cmd)
	says := bufio.NewReader(pipe)
	hung := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer hung.Stop()
	if line, err := says.ReadString('\n'); line != "ready\n" {
		tb.Fatal(fmt.Errorf("%v says %q, not that it is ready: %w", cmd.Args, line, err))
	}
	return says
}

// limitLife kills a program after longestLife, so that a test that reads from it does not wait for ever.
func limitLife(tb TB, cmd *exec.Cmd) {
	late := time.AfterFunc(longestLife, func() { _ = cmd.Process.Kill() })
	tb.Cleanup(func() { late.Stop() })
}

const longestLife = 15 * time.Minute

// Kill ends a program of [Ready] early.
func Kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Asleep waits until a just started program sleeps: its name is set before it is mapped.
func Asleep(tb TB, pid int) {
	tb.Helper()
	if !Comes(func() bool { return sleepsInItself(pid) }) {
		tb.Fatal(fmt.Errorf("process %d does not sleep within %v: %v", pid, patience, statFields(pid)))
	}
}

func sleepsInItself(pid int) bool {
	f := statFields(pid)
	if len(f) == 0 || f[0] != "S" {
		return false
	}
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, " r-xp ") && strings.HasSuffix(line, " "+exe+"\n") {
			return true
		}
	}
	return false
}
