// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"
	"testing"

	"prywalk/internal/base/refusal"
)

func TestStopsThatAnotherTracerPreventedAreNotBlamedOnASecurityModule(t *testing.T) {
	c := child(t, "sleep", "1000")
	pids := []int{c.Process.Pid}
	for _, w := range []struct {
		n     StopResults
		kind  error
		cause string
	}{
		{StopResults{Traced: 3, Succeeded: 100}, refusal.Traced,
			"another tracer was attached, stops refused: 3; none is attached now"},
		{StopResults{Traced: 3}, refusal.Traced, "another tracer was attached"},
		{StopResults{Denied: 2, Traced: 3, Succeeded: 100}, refusal.Traced, "another tracer was attached"},
		{StopResults{Denied: 2, Succeeded: 100}, refusal.Denied, "stops denied by the kernel: 2, allowed: 100"},
	} {
		e := wantKind(t, ExplainFailures(pids, w.n), w.kind)
		if !strings.Contains(e.Cause, w.cause) || strings.Contains(e.Cause, "security module") {
			t.Errorf("%+v: cause %q, want %q, without a security module", w.n, e.Cause, w.cause)
		}
	}
	if err := ExplainFailures(pids, StopResults{Succeeded: 5}); err != nil {
		t.Errorf("without refusals: %v, want no error", err)
	}
	e := wantKind(t, ExplainFailures(pids, StopResults{Denied: 2}), refusal.Denied)
	if !strings.Contains(e.Error(), "probably a security module") {
		t.Error(e)
	}
}
