package testtargets

import (
	"bufio"
	"fmt"
	"os/exec"
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
