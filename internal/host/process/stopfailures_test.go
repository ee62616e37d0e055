// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/base/errs"
)

func TestStopsThatAnotherTracerPreventedAreNotBlamedOnASecurityModule(t *testing.T) {
	c := child(t, "sleep", "1000")
	pids := []int{c.Process.Pid}
	for _, w := range []struct {
		n     StopResults
		kind  error
		cause string
	}{
		{StopResults{Traced: 3, Succeeded: 100}, errs.Traced,
			"another tracer was attached, stops refused: 3; none is attached now"},
		{StopResults{Traced: 3}, errs.Traced, "another tracer was attached"},
		{StopResults{Denied: 2, Traced: 3, Succeeded: 100}, errs.Traced, "another tracer was attached"},
		{StopResults{Denied: 2, Succeeded: 100}, errs.Denied, "stops denied by the kernel: 2, allowed: 100"},
	} {
		e := wantKind(t, ExplainFailures(pids, w.n), w.kind)
		if !strings.Contains(e.Cause, w.cause) || strings.Contains(e.Cause, "security module") {
			t.Errorf("%+v: cause %q, want %q, without a security module", w.n, e.Cause, w.cause)
		}
	}
	if err := ExplainFailures(pids, StopResults{Succeeded: 5}); err != nil {
		t.Errorf("without refusals: %v, want no error", err)
	}
	e := wantKind(t, ExplainFailures(pids, StopResults{Denied: 2}), errs.Denied)
	if !strings.Contains(e.Error(), "probably a security module") {
		t.Error(e)
	}
}

func TestAnotherPrywalkIsNamed(t *testing.T) {
	root := t.TempDir()
	write := func(dir, comm, command string, tracer int) {
		t.Helper()
		status := fmt.Sprintf("Name:\t%s\nState:\tS (sleeping)\nTgid:\t%s\nPid:\t%[2]s\nTracerPid:\t%d\n", comm,
			strings.ReplaceAll(dir, "self", "50"), tracer)
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"status": status, "comm": comm + "\n", "cmdline": command} {
			if err := os.WriteFile(filepath.Join(root, dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	cause := func() string {
		return procRoot(root).heldByTracer([]int{77}, StopResults{Traced: 3}).Error()
	}
	write("self", "prywalk", "prywalk\x00record\x00", 0)
	write("50", "prywalk", "prywalk\x00record\x00", 0)
	write("60", "prywalk", "prywalk\x00report\x00", 0)
	write("61", "record", "record\x00record\x00", 0)
	write("77", "server", "server\x00", 0)
	for _, step := range []struct {
		does func()
		want string
	}{
		{func() {}, "process 77: another tracer was attached, stops refused: 3; none is attached now; try again"},
		{func() { write("62", "prywalk", "/usr/bin/prywalk\x00top\x00-p\x0077\x00", 0) },
			"process 77: another prywalk (pid 62) runs, and perhaps samples it, too; stops refused: 3; end one of them"},
		{func() { write("77", "server", "server\x00", 62) },
			"process 77: prywalk (process 62) traces it, stops refused: 3; end one of them"},
		{func() { write("77", "server", "server\x00", 61) },
			"process 77: record (process 61) traces it, stops refused: 3; detach record"},
	} {
		if step.does(); cause() != step.want {
			t.Errorf("%s\nwant %s", cause(), step.want)
		}
	}
}
