// SPDX-License-Identifier: Apache-2.0

package console

import (
	"sync"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

func TestQuickStepsAreNotReported(t *testing.T) {
	tty := testtargets.NewTerminal(t, 80)
	testtargets.StderrIs(t, tty.Slave)
	asked := make(chan struct{})
	var once sync.Once
	begun := time.Now()
	p := StartProgress(false, func() string {
		once.Do(func() { close(asked) })
		return ""
	})
	<-asked
	if took := time.Since(begun); took < ProgressDelay {
		t.Errorf("progress was shown after %v", took)
	}
	p.Stop()
	p.Stop()
	StartProgress(true, func() string { t.Error("progress is shown, though --quiet forbids it"); return "" }).Stop()
	if text := tty.Text(); text != "" {
		t.Errorf("%q", text)
	}
}
