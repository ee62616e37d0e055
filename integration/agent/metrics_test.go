// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestOwnMetricsComeInAsOTLP by either protocol: the last message has what was sent in all.
func TestOwnMetricsComeInAsOTLP(t *testing.T) {
	c := newCollector(t, "").start()
	for _, args := range [][]string{
		{"--endpoint", "http://" + c.grpc}, {"--endpoint", "http://" + c.http, "--protocol", "http"},
	} {
		_ = os.Remove(c.file() + ".metrics")
		l := startLoad(t)
		a := startAgent(t, l, args...)
		l.compute()
		eventually(t, "a window is sent", func() bool { return a.metric("sent_messages_total") >= 1 })
		a.end()
		text, err := os.ReadFile(c.file() + ".metrics")
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]struct {
			Kind, Unit, Service string
			Values              map[string]float64
			Times               bool
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for name, kind := range map[string]string{
			"prywalk.sent_messages": "Counter Cumulative", "prywalk.ticks": "Counter Cumulative", "prywalk.threads": "Gauge",
			"prywalk.rate_asked_hertz": "Gauge", "prywalk.process_memory_bytes": "Gauge",
		} {
			if m := got[name]; m.Kind != kind || m.Values[""] < 1 || m.Service != "prywalk" || !m.Times {
				t.Errorf("%s is %+v", name, m)
			}
		}
		if lost := got["prywalk.lost_intervals"]; len(lost.Values) < 5 || lost.Values["shutdown"] != 0 {
			t.Errorf("lost intervals are %+v", lost)
		}
		if says := a.says.String(); strings.Contains(says, "cannot") {
			t.Errorf("the agent says %q", says)
		}
	}
}

// TestRefusedMessagesAreDroppedAndSaidOnce: an endpoint without profiles is no reason to keep them.
func TestRefusedMessagesAreDroppedAndSaidOnce(t *testing.T) {
	c := newCollector(t, "").start()
	l := startLoad(t)
	a := startAgent(t, l, "--endpoint", "http://"+c.http+"/nothing", "--protocol", "http")
	l.compute()
	eventually(t, "two messages are lost", func() bool {
		return a.metric(`lost_intervals_total{reason="not_found"}`) > 0 && a.metric("send_failures_total") >= 2
	})
	if n := a.metric("waiting_messages"); n > 1 {
		t.Errorf("%v messages wait", n)
	}
	a.end()
	if n := strings.Count(a.says.String(), " refuses messages, which are dropped and counted (not_found)"); n != 1 {
		t.Errorf("said %d times: %s", n, &a.says)
	}
}
