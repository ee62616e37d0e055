// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"os/exec"
	"syscall"
	"testing"
)

func TestAgentSendsTheWholeMachine(t *testing.T) {
	onKernels(t)
	start(t, "chain")
	got := receiver(t)
	cmd := exec.Command(program(t, "prywalk"), "agent", "-a", "--endpoint", "http://127.0.0.1:4318", "--protocol", "http",
		"--window", "1s", "--max-pause", "off", "--max-overhead", "50%")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for range 2 {
		awaitMessage(t, got, func() bool { return true })
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("prywalk agent: %v\n%s", err, errs.String())
	}
}
