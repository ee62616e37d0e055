// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestErrorsOfCommandsSayWhatWasRunAndWhatItWrote(t *testing.T) {
	failing := func() *exec.Cmd { return exec.Command("sh", "-c", "echo said; echo wrong >&2; exit 3") }
	out, err := Output(failing())
	if string(out) != "said\n" {
		t.Errorf("the output is %q", out)
	}
	both, combined := AllOutput(failing())
	if string(both) != "said\nwrong\n" {
		t.Errorf("both outputs are %q", both)
	}
	for what, e := range map[string]error{"Output": err, "Run": Run(failing()), "AllOutput": combined} {
		var exit *exec.ExitError
		if !errors.As(e, &exit) || exit.ExitCode() != 3 {
			t.Errorf("%s: %v, want one of status 3", what, e)
		}
		text := e.Error()
		if !strings.Contains(text, "exit 3") || what != "AllOutput" && !strings.Contains(text, "wrong") {
			t.Errorf("%s: the error is %q, want the command, and what it wrote", what, text)
		}
	}
	if err := Run(exec.Command("true")); err != nil {
		t.Error(err)
	}
	if err := Run(exec.Command("/no such program")); err == nil || !strings.Contains(err.Error(), "/no such program") {
		t.Errorf("a program that does not exist: %v", err)
	}
}

func TestCommandsAreBounded(t *testing.T) {
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := wait(cmd, time.Millisecond); !errors.Is(err, errLate) {
		t.Errorf("%v, want %v", err, errLate)
	}
}

func TestReceivesEndWithAClosedChannel(t *testing.T) {
	full, closed := make(chan int, 1), make(chan int)
	full <- 7
	close(closed)
	if got := Receive(t, "a value", full); got != 7 {
		t.Errorf("%d was received, want 7", got)
	}
	if v, came := Received(closed); v != 0 || !came {
		t.Errorf("%d, %v from a closed channel", v, came)
	}
}
