// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

type failing struct{ *testing.T }

func (failing) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func TestProgramThatNeverGetsReadyIsEnded(t *testing.T) {
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "not that it is ready") {
			t.Errorf("%s, want that the program is not ready", text)
		}
	}()
	readyWithin(failing{t}, exec.Command("sleep", "60"), 10*time.Millisecond)
}
