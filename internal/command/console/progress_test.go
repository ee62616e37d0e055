// SPDX-License-Identifier: Apache-2.0

package console

import (
	"sync"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestQuickStepsAreNotReported(t *testing.T) {
	tty := testtargets.NewTerminal(t, 80)
	testtargets.StderrIs(t, tty.Slave)
	t.Setenv("TERM", "xterm")
	asked := make(chan struct{})
	var once sync.Once
	begun := time.Now()
	p := StartProgress(false, func() string {
		once.Do(func() { close(asked) })
		return ""
	})
	bounded.Receive(t, "the progress is asked for", asked)
	if took := time.Since(begun); took < progressDelay {
		t.Errorf("progress was shown after %v", took)
	}
	p.Stop()
	p.Stop()
	StartProgress(true, func() string { t.Error("progress is shown, though --quiet forbids it"); return "" }).Stop()
	if text := tty.Text(); text != "" {
		t.Errorf("%q", text)
	}
}

func TestADumbTerminalHasNoProgressLine(t *testing.T) {
	tty := testtargets.NewTerminal(t, 80)
	testtargets.StderrIs(t, tty.Slave)
	t.Setenv("TERM", "dumb")
	p := StartProgress(false, func() string { return "1.0 s" })
	select {
	case <-p.done:
	default:
		t.Error("progress is shown")
		p.Stop()
	}
}

func TestTheProgressLineFitsTheTerminal(t *testing.T) {
	for columns, want := range map[int]string{
		80: "30.0 s  99/s  12345 samples  100 threads  99.9% complete  0 failed  漢字 (Ctrl…",
		20: "30.0 s  99/s  1234…",
		1:  "…",
		0:  "30.0 s  99/s  12345 samples  100 threads  99.9% complete  0 failed  漢字 (Ctrl-C ends)",
	} {
		tty := testtargets.NewTerminal(t, columns)
		testtargets.StderrIs(t, tty.Slave)
		var p Progress
		p.show("30.0 s  99/s  12345 samples  100 threads  99.9% complete  0 failed  漢字 (Ctrl-C ends)")
		p.Pause()
		if text := tty.Text(); text != clearLine+want+clearLine {
			t.Errorf("%d columns: %q, want %q", columns, text, want)
		}
	}
}

func TestMessagesReplaceTheProgressLine(t *testing.T) {
	tty := testtargets.NewTerminal(t, 80)
	testtargets.StderrIs(t, tty.Slave)
	var p Progress
	p.show("1.0 s")
	Errorf("cannot write")
	Errorf("twice")
	p.show("1.5 s")
	p.Pause()
	p.Pause()
	want := clearLine + "1.0 s" + clearLine + "prywalk: cannot write\nprywalk: twice\n" + clearLine + "1.5 s" + clearLine
	if text := tty.Text(); text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
